"""For people's own tests: a pytest plugin over their own files, and hypothesis strategies.

    plugin.py, items.py, fixtures.py    `pytest --rigpact-bundle FILE …`; loaded by pytest itself, see docs/testing.md
    checks.py, properties.py            what the plugin's items judge, of any system; know nothing of pytest
    files.py, judgement.py              the user's files; a judgement and the two ways in which it is not a yes
    strategies.py                       contracts, rotations, six numbers, clips, traces; needs hypothesis

Nothing here is imported by the rest of rigpact, and importing this package costs nothing.
"""
