"""The figures of docs/explanation/, as SVG: boxes for stages, and one measured picture of tolerances.

`python -m parity_tests.measuring.pages.generated_docs` writes them to docs/figures. Every number is a sum, difference, product or
quotient of float32 or float64 numbers, which IEEE 754 fixes to the last bit, so every machine draws the same picture.
"""

from collections.abc import Iterable, Iterator
from html import escape
from math import log10

import numpy as np

from rigpact.contract import load_contract
from rigpact.contract.character import character_of
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.recordings.clip import RawClip, read_clip

INK, PALE, GREEN, RED, AMBER, PAPER = "#1f2933", "#7b8794", "#12805c", "#c0262d", "#9a6700", "#ffffff"
BOX_WIDTH, BOX_HEIGHT, GAP = 92, 40, 24
TOO_LARGE = 1e-5
"""A tolerance as people choose one."""
_STYLE = "font-size:14px;font-family:system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif"


def stage_local_replay() -> str:
    """One stage computes wrongly: a run from the start differs in all that follow, a replay in this one alone."""
    names = ("x_raw", "state", "y_norm", "y_raw", "next6d", "y_out", "quat")
    wrong = names.index("next6d")
    run = {name: GREEN if place < wrong else RED for place, name in enumerate(names)}
    parts = [*_row("a run beside the engine: each stage from the run's own stage before", names, 34, run, chained=True)]
    parts += _row("the engine's recording", names, 124, dict.fromkeys(names, INK))
    replay = {name: RED if place == wrong else GREEN for place, name in enumerate(names)}
    parts += _row("", names, 204, replay)
    parts += [_arrow(_left(place) - GAP - 16, 164, _left(place) + 16, 204, PALE) for place in range(1, len(names))]
    parts.append(text(16, 264, "stage-local replay: each stage from the engine's recorded stage before", INK))
    parts.append(text(16, 288, "green: within rounding of the recording; red: beyond", PALE))
    return svg(_left(len(names)), 300, "A replay names the one stage that computes otherwise", parts)


def folding() -> str:
    """Stages that nobody recorded lie on the way to a recorded one: they are computed, and their conventions searched."""
    names = ("x_raw", "y_norm", "y_raw", "delta6d", "next6d", "y_out", "quat")
    recorded = {"x_raw", "y_norm", "quat"}
    parts = [text(16, 22, "recorded: x_raw, y_norm and quat", INK)]
    parts += _row("", names, 64, dict.fromkeys(names, INK), dashed=set(names) - recorded)
    parts += [_arrow(_left(place) + BOX_WIDTH, 84, _left(place + 1), 84, INK) for place in range(1, len(names) - 1)]
    pose, composed = (_left(names.index(name)) + BOX_WIDTH / 2 for name in ("x_raw", "next6d"))
    parts.append(f'<path d="M{pose:g} 64 V44 H{composed:g} V62" fill="none" stroke="{INK}" marker-end="url(#tip)"/>')
    left, right = (_left(names.index(name)) + BOX_WIDTH / 2 for name in ("y_norm", "quat"))
    parts.append(f'<path d="M{left:g} 112 v14 H{right:g} v-14" fill="none" stroke="{GREEN}" stroke-width="2"/>')
    parts.append(text(left, 150, "one judgement: quat from the recorded y_norm and x_raw", GREEN))
    parts.append(text(left, 172, "searched: denorm, output_mode, rot6d_columns, compose_order, …", INK))
    parts.append(text(left, 194, "tolerance: the rounding of all five stages on the way", INK))
    return svg(_left(len(names)), 212, "Unrecorded stages are folded into the next recorded one", parts)


def derived_tolerances() -> str:
    """Two correct float32 z-scores of the demo character, channel by channel, beside the derived tolerance."""
    tolerance, differs = _zscored_twice()
    low, high, size = -8.0, -3.0, 420
    scale = size / (high - low)

    def across(value: float) -> float:
        return 70 + scale * (log10(value) - low)

    def down(value: float) -> float:
        return 30 + size - scale * (log10(value) - low)

    parts = [f'<rect x="70" y="30" width="{size}" height="{size}" fill="none" stroke="{PALE}"/>']
    for power in range(int(low), int(high) + 1):
        parts.append(text(across(10.0**power), 30 + size + 20, f"1e{power}", PALE, anchor="middle"))
        parts.append(text(62, down(10.0**power) + 4, f"1e{power}", PALE, anchor="end"))
    for x, y in zip(tolerance, differs, strict=True):
        parts.append(f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="2.2" fill="{GREEN}" fill-opacity="0.55"/>')
    parts.append(line(across(10**low), down(10**low), across(10**high), down(10**high), RED))
    parts.append(line(across(10**low), down(TOO_LARGE), across(10**high), down(TOO_LARGE), AMBER))
    parts.append(text(across(10**low) + 8, down(TOO_LARGE) - 6, "one tolerance for all: 1e-5", AMBER))
    parts.append(text(across(10**high) - 60, down(10**high) + 40, "as large as its tolerance", RED, anchor="end"))
    parts.append(text(70 + size / 2, 30 + size + 44, "derived tolerance of the channel", INK, anchor="middle"))
    parts.append(text(70, 20, "largest difference of two correct programs", INK))
    return svg(size + 100, size + 90, "No channel reaches its derived tolerance; a chosen one fits no channel", parts)


def _zscored_twice() -> tuple[FloatArray, FloatArray]:
    """The tolerance of every channel of rotations of `state`, and by how much (x - mean) / std and x·(1/std) - mean/std part."""
    folder = demo_bundle()
    contract = load_contract(folder / "norm_template.json", companion=folder / "pretrain_template.json")
    rotations = character_of(contract).state[ROTATIONS].range
    clip = read_clip(folder / "clips" / "Run_F.json")
    assert isinstance(clip, RawClip)
    x = clip.state_rows(character_of(contract).state)
    mean, std = (
        character_of(contract).state_statistics.mean,
        character_of(contract).state_statistics.std_floored.astype(np.float32),
    )
    one = np.float32(1.0)
    first, second = ((x - mean) / std), (x * (one / std) - mean * (one / std))
    bound = stage_tolerances(contract, {"x_raw": x, "state": first}, given={"x_raw"})["state"]
    differs = np.abs(first.astype(np.float64) - second.astype(np.float64))
    worst = np.argmax(differs / bound, axis=0)[None]
    chosen = [np.take_along_axis(each, worst, axis=0)[0, rotations] for each in (bound, differs)]
    shown = chosen[1] > 0.0
    return chosen[0][shown], chosen[1][shown]


def _left(place: int) -> float:
    return 16.0 + place * (BOX_WIDTH + GAP)


def _row(
    title: str,
    names: Iterable[str],
    top: float,
    colour: dict[str, str],
    *,
    dashed: Iterable[str] = (),
    chained: bool = False,
) -> Iterator[str]:
    if title:
        yield text(16, top - 10, title, INK)
    for place, name in enumerate(names):
        dash = ' stroke-dasharray="5 4"' if name in dashed else ""
        yield (
            f'<rect x="{_left(place):g}" y="{top:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="{PAPER}" '
            f'stroke="{colour[name]}" stroke-width="2"{dash}/>'
        )
        yield text(_left(place) + BOX_WIDTH / 2, top + 25, name, colour[name], anchor="middle")
        if chained and place:
            yield _arrow(_left(place) - GAP, top + 20, _left(place), top + 20, INK)


def _arrow(x: float, y: float, to_x: float, to_y: float, colour: str) -> str:
    return (
        f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="{colour}" stroke-width="1.5" '
        f'marker-end="url(#tip)"/>'
    )


def line(x: float, y: float, to_x: float, to_y: float, colour: str) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}" stroke-width="1.5"/>'


def text(x: float, y: float, words: str, colour: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(words)}</text>'


def svg(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" style="{_STYLE}" role="img">
<title>{escape(title)}</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 L8 4 L0 8 z" fill="{PALE}"/></marker></defs>
<rect width="{width:g}" height="{height:g}" rx="8" fill="{PAPER}"/>
{body}
</svg>
"""


FIGURES = {
    "figures/stage-local-replay.svg": stage_local_replay,
    "figures/folding.svg": folding,
    "figures/derived-tolerances.svg": derived_tolerances,
}
