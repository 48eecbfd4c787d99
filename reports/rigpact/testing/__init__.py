"""For users' own tests: a pytest plugin that tests their files, and hypothesis strategies.

    plugin.py, items.py, fixtures.py    `pytest --rigpact-bundle FILE …`; pytest loads them, see docs/testing.md
    checks.py, properties.py            the judgements of the plugin's items, for any system; independent of pytest
    files.py, judgement.py              the user's files; a judgement and its two exceptions
    strategies.py                       contracts, rotations, six numbers, clips, traces; needs hypothesis

The rest of rigpact does not import this package, and importing it costs nothing.
"""

__all__ = ["strategies"]
