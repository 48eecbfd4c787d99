"""Neural-animation systems under contract: what one is, and the facts of those that are declared graphs of stages.

    stage, system  a system as values: stages with layouts, knobs and measures; a contract of it
    layout         what a vector holds: named fields and a hash over all of their meaning
    registry       the systems of this installation, by entry points
    reading        contract files read and written
    problem        what is wrong with constants or with training data, before it is a finding
    NAME           a system's facts: the fields of its vectors, its constants and when they contradict themselves

To host a system NAME:
 1. here: NAME.py with the layouts of its vectors, `read_constants` and `constant_problems`.
 2. reference_runtime/systems/NAME/: stages.py, a function for each stage and a `Knob` for each table of readings; graph.py, its
    `SYSTEM`; a row under `rigpact.systems` in pyproject.toml. Every command then works for it.
 3. fixtures/training/rigpact/training/NAME/: motion, the torch side, `build.py`, which writes the contract (`contract_to_json`),
    the model, and a clip: a trace whose header says `system=NAME` and whose stages are those that come from outside.
 4. docs/systems/NAME.md, tests in parity_tests/systems_room.
"""
