"""Other neural-animation systems under contract, each described by data.

    layout        what a vector holds: named fields and a hash over all of their meaning
    definition    what a system is (`SystemDefinition`) and what one exported file declares (`SystemContract`)
    problem       what is wrong with constants or with training data, before it is a finding
    registry      SYSTEMS: every definition, with what judges its constants
    reading       contract files read and written

To host a system NAME:
 1. here: NAME.py with a `DEFINITION` (vectors, the model's inputs and outputs, knobs with hints) and
    `constant_problems(constants)`; a row in registry.py.
 2. reference_runtime/systems/NAME/graph.py: `graph(contract, evaluate=None) -> StageGraph`; a row in the registry there, with a
    data gate if its training data can contradict its rig. Stages name the knobs that they look at and bound their rounding;
    `check`, `run`, `diff`, `explain` and `gate` then work for it.
 3. fixtures/training/rigpact/training/NAME/: motion, the torch side, `build.py`, which writes the contract (`contract_to_json`),
    the model, and a clip: a trace whose header says `system=NAME` and whose stages are the graph's given vectors.
 4. docs/systems/NAME.md, tests in parity_tests/systems_room, a module parity_tests/scores/NAME_score.py.
"""
