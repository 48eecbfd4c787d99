"""Neural-animation systems under contract: what one is. A system of rigpact's own is one page: see contract/pages.

    stage, system  a system as values: stages with layouts, knobs and measures; a contract of it; faults before they are findings
    layout         what a vector holds: named fields and a hash over all of their meaning

Beside the page: fixtures/training/rigpact/training/NAME.py, with motion and the torch side, which writes contract,
model and a clip: a trace whose header says `system=NAME` and whose stages are those that come from outside; docs/systems.md;
tests in parity_tests/systems_room.
"""
