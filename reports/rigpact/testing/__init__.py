"""For users' own tests and trainings: a pytest plugin that tests their files, hypothesis strategies, a capture of an environment.

    plugin.py, items.py         `pytest --rigpact-bundle FILE …`; pytest loads them, see docs/testing.md
    checks.py                   the judgements of the plugin's items, for any system; independent of pytest
    files.py                    the user's files; a judgement and its two exceptions
    scripts.py                  `agrees(step, recording)`; `capture(env)`: the contract of an environment, and its recorder
    strategies.py               contracts, rotations, six numbers, clips, traces; needs hypothesis

The rest of rigpact does not import this package, and importing it costs nothing.
"""

from typing import Any

__all__ = ["agrees", "capture", "strategies"]


def __getattr__(name: str) -> Any:
    """`agrees` and `capture` are imported when they are asked for."""
    if name in ("agrees", "capture"):
        from rigpact.testing import scripts

        return getattr(scripts, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
