"""RP080-RP089: the condition vector's normalisation."""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.contract.findings import Finding, Rule, Severity
from rigpact.contract.rules.view import BundleView, member

ENGINE_MODES = ("Raw", "ZScore")
"""What the engine's `ECondNormMode` knows; it then uses Raw whatever the bundle says."""

CONDITION_MODE_UNKNOWN = Rule(
    code="RP080",
    name="condition-mode-unknown",
    severity=Severity.WARNING,
    message="condition mode {mode!r} is unknown to the engine (it knows {known}); it passes the condition through raw",
    hint="declare Raw if the network was trained on raw conditions; if not, teach the engine the mode",
    why="a network trained on normalised conditions walks at the wrong speed, or ignores the stick",
)
CONDITION_MODE_IGNORED = Rule(
    code="RP081",
    name="condition-mode-ignored",
    severity=Severity.WARNING,
    message="condition mode {mode!r} is read and then overridden: the engine passes the condition through raw",
    hint="train on raw conditions and declare Raw, or make the engine honour the mode",
    why="the engine forces Raw after reading the mode; training that normalises sees another input than the game",
)
RULES = (CONDITION_MODE_UNKNOWN, CONDITION_MODE_IGNORED)


def check_condition(view: BundleView) -> Iterator[Finding]:
    """Yield what is wrong with `cond_norm_config`."""
    mode = member(view.root, "cond_norm_config", "mode")
    if type(mode) is not str or mode == "Raw":
        return
    rule = CONDITION_MODE_IGNORED if mode in ENGINE_MODES else CONDITION_MODE_UNKNOWN
    yield rule.at(view.path, "/cond_norm_config/mode", mode=mode, known=", ".join(ENGINE_MODES))
