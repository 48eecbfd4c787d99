"""The parts of the gate, one module for each question. Every part works on any system through its contract.

Each module has `ask(project)`, which yields questions, or the reason why the part was not asked. A part with
thresholds also has `judge(measured, settings)`. To add a part: write its module, and add a row in catalogue.py.
"""
