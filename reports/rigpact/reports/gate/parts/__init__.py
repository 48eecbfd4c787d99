"""The parts of the gate for the enemy animation, one question a module.

Each has `ask(case)`, which yields what it measured or why nobody asked, and, where thresholds decide, `judge(measured,
settings)`. To add a part: its module, a row in ../enemy_animation.py.
"""
