"""RP070-RP079: frames a second."""

from collections.abc import Iterator

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Family, Need, on_bundle, rules_in
from rigpact.contract.rules.views.bundle import DEFAULT_FPS, BundleView, json_to_rate, member
from rigpact.contract.rules.wording import number_text

FPS_ABSENT = Rule.titled(
    "RP070 warning fps-absent",
    message="no root fps: the engine steps the network at {default:g} frames a second{elsewhere}",
    hint="write fps at the root of the bundle; the engine does not look anywhere else",
    why="a character trained at another rate plays at the wrong speed, and every velocity is wrong by the same factor",
)
FPS_NOT_POSITIVE = Rule.titled(
    "RP071 error fps-not-positive",
    message="fps = {fps}: a frame rate must be > 0 and finite",
    hint="write the rate the training data was sampled at",
    why="the length of a step is 1 / fps",
)
FPS_IMPLAUSIBLE = Rule.titled(
    "RP072 warning fps-implausible",
    message="fps = {fps:g} lies outside {lowest:g} to {highest:g}",
    hint="fps counts frames a second: a step in seconds or milliseconds belongs elsewhere",
    why="the engine steps the network fps times a second: the character races, or freezes between steps",
)

_LOWEST, _HIGHEST = 5.0, 1000.0
"""A gait has two steps a second, so fewer than 5 frames a second do not sample it. No capture rig or game loop exceeds 1000."""


def check_timing(view: BundleView) -> Iterator[Finding]:
    """Yield what is wrong with the bundle's frame rate."""
    if "fps" not in view.root:
        found = member(view.meta, "fps")
        elsewhere = f" (meta.fps = {found} is not read)" if found is not None else ""
        yield FPS_ABSENT.at(view.path, default=DEFAULT_FPS, elsewhere=elsewhere)
        return
    declared = view.root["fps"]
    if type(declared) in (int, float) and json_to_rate(declared) is None:
        yield FPS_NOT_POSITIVE.at(view.path, "/fps", fps=number_text(declared))
    elif type(declared) in (int, float) and not _LOWEST <= declared <= _HIGHEST:
        yield FPS_IMPLAUSIBLE.at(view.path, "/fps", fps=declared, lowest=_LOWEST, highest=_HIGHEST)


FAMILY = Family(__name__, rules_in(globals()), (Need.BUNDLE,), on_bundle(check_timing))
