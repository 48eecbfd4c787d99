"""For users' own tests and trainings: a pytest plugin that tests their files, hypothesis strategies, a capture of an environment.

    plugin.py, items.py, fixtures.py    `pytest --rigpact-bundle FILE …`; pytest loads them, see docs/testing.md
    checks.py, properties.py            the judgements of the plugin's items, for any system; independent of pytest
    files.py, judgement.py              the user's files; a judgement and its two exceptions
    captured.py                         `capture(env)`: the contract of a training environment, and a recorder of it
    strategies.py                       contracts, rotations, six numbers, clips, traces; needs hypothesis

The rest of rigpact does not import this package, and importing it costs nothing.
"""

from typing import Any

__all__ = ["capture", "strategies"]


def __getattr__(name: str) -> Any:
    """`capture` is imported when it is asked for."""
    if name != "capture":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rigpact.testing.captured import capture

    return capture
