"""RP080-RP089: the condition vector's normalisation."""

from collections.abc import Iterator

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import CONDITION_WIDTH
from rigpact.contract.rules.family import Family, Need, on_bundle, rules_in
from rigpact.contract.rules.views.bundle import BundleView, member
from rigpact.contract.rules.wording import number_text

ENGINE_MODES = ("Raw", "ZScore")
"""The modes of the engine's `ECondNormMode`. The engine uses Raw, whatever the bundle says."""

CONDITION_MODE_UNKNOWN = Rule.titled(
    "RP080 warning condition-mode-unknown",
    message="condition mode {mode!r} is unknown to the engine (it knows {known}); it passes the condition through raw",
    hint="declare Raw if the network was trained on raw conditions; if not, teach the engine the mode",
    why="a network trained on normalised conditions walks at the wrong speed, or ignores the stick",
)
CONDITION_MODE_IGNORED = Rule.titled(
    "RP081 warning condition-mode-ignored",
    message="condition mode {mode!r} is read and then overridden: the engine passes the condition through raw",
    hint="train on raw conditions and declare Raw, or make the engine honour the mode",
    why="the engine forces Raw after reading the mode; training that normalises sees another input than the game",
)
CONDITION_RANGE_DIFFERS = Rule.titled(
    "RP082 warning condition-range-differs",
    message="cond_norm_config.{key} is {found}; the condition has channels 0 to {last}",
    hint="normalise all seven channels: start 0, size 7",
    why="normalising part of the condition turns action bits and speed into another vector than the engine builds",
)


def check_condition(view: BundleView) -> Iterator[Finding]:
    """Yield what is wrong with `cond_norm_config`."""
    for key, expected in (("start", 0), ("size", CONDITION_WIDTH)):
        found = member(view.root, "cond_norm_config", key)
        if type(found) in (int, float) and found != expected:
            values = {"key": key, "found": number_text(found), "last": CONDITION_WIDTH - 1}
            yield CONDITION_RANGE_DIFFERS.at(view.path, ("cond_norm_config", key), **values)
    mode = member(view.root, "cond_norm_config", "mode")
    if type(mode) is not str or mode == "Raw":
        return
    rule = CONDITION_MODE_IGNORED if mode in ENGINE_MODES else CONDITION_MODE_UNKNOWN
    yield rule.at(view.path, "/cond_norm_config/mode", mode=mode, known=", ".join(ENGINE_MODES))


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), on_bundle(check_condition))
