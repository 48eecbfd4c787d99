"""The parts of the gate, one question a module; every part works on any system through its contract.

Each has `ask(project)`, which yields what it measured or why it was not asked, and, where thresholds decide, `judge(measured,
settings)`. To add a part: its module, a row in catalogue.py.
"""
