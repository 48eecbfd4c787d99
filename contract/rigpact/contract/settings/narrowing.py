"""Changes of a project's settings that narrow its gate.

A setting that is not known to judge more counts as narrower: another file, another convention, another name. To add a setting of
[gate]: a row in `_GATE` or `_RUN`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rigpact.contract.findings import Severity
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.settings.configuration import Configuration
from rigpact.contract.settings.exceptions import Waiver
from rigpact.contract.settings.gate import GateSettings, RecordedRun

_GRAVEST_FIRST = tuple(Severity)


@dataclass(frozen=True)
class Narrowing:
    """One setting that judges less than before. key: as in the file; was, now: in words."""

    key: str
    was: str
    now: str


Judges = Callable[[Any, Any], bool]
"""Whether a value judges at least what the value of before does: (was, now)."""


def _same(was: Any, now: Any) -> bool:
    return bool(was == now)


def _same_once_named(was: Any, now: Any) -> bool:
    return was is None or bool(was == now)


def _gone_or_same(was: Any, now: Any) -> bool:
    return now is None or bool(was == now)


def _all_of(was: Collection[str], now: Collection[str]) -> bool:
    """Nothing named means all."""
    return not now or (bool(was) and set(was) <= set(now))


def _begins_with(was: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """The first clip drives the free run: what is new comes after."""
    return now[: len(was)] == was


def _at_most(was: float | None, now: float | None) -> bool:
    """None is not a limit."""
    return was is None or (now is not None and now <= was)


def _at_least(was: float | None, now: float | None) -> bool:
    return now == was or (was is not None and now is not None and now >= was)


_GATE: Mapping[str, Judges] = {
    "bundle": _same_once_named, "companion": _same_once_named, "model": _same_once_named, "clips": _begins_with,
    "frames": _at_least, "base": _same_once_named, "change_record": _gone_or_same, "strict": _at_least,
    "conventions": _same, "settings": _gone_or_same,
}  # fmt: skip
_RUN: Mapping[str, Judges] = {
    "file": _same, "clip": _same, "mode": _same, "stages": _all_of, "bones": _all_of, "frames": _at_least,
    "producer": _same_once_named, "resolution": _same,
}  # fmt: skip
_THRESHOLDS: Mapping[str, Judges] = {
    "tolerance_factor": _at_most, "pose_deg": _at_most, "pose_cm": _at_most, "adequacy_margin": _at_least,
}  # fmt: skip
_BUDGET: Mapping[str, Judges] = {
    "parameters": _at_most, "model_bytes": _at_most, "inference_us": _at_most, "inference_margin": _at_most,
}  # fmt: skip


def narrowings(was: Configuration, now: Configuration) -> Iterator[Narrowing]:
    """What the settings judge less than before; known findings aside, see `newly_known`."""
    for rule in ALL_RULES:
        before, after = was.raised(rule), now.raised(rule)
        if _GRAVEST_FIRST.index(after) > _GRAVEST_FIRST.index(before):
            yield Narrowing(f"severity.{rule.code}", before.value, after.value)
    known = {replace(each, index=0) for each in was.lowerings}
    for lowering in now.lowerings:
        if replace(lowering, index=0) not in known:
            yield Narrowing(f"lower[{lowering.index}]", "absent", f"{lowering.rule} lowered to {lowering.to}")
    if was.gate is not None:
        yield from _of_gate(was.gate, now.gate or GateSettings())


def newly_known(was: Collection[Waiver], now: Collection[Waiver]) -> Iterator[Narrowing]:
    """Known findings that the change adds, or gives another day."""
    for waiver in now:
        if waiver not in was:
            yield Narrowing("baseline", "absent", f"{waiver.code} at {waiver.place} waived until {waiver.expires}")


def _of_gate(was: GateSettings, now: GateSettings) -> Iterator[Narrowing]:
    yield from _of_fields("gate", was, now, _GATE)
    if not was.no_free_run and (was.free_run, False) != (now.free_run, now.no_free_run):
        yield Narrowing("gate.free-run", _words(was.free_run), "false" if now.no_free_run else _words(now.free_run))
    yield from _of_fields("gate.thresholds", was.thresholds, now.thresholds, _THRESHOLDS)
    yield from _of_fields("gate.budget", was.budget, now.budget, _BUDGET)
    for kind, before, after in (("teacher", was.teacher, now.teacher), ("trace", was.traces, now.traces)):
        yield from _of_runs(f"gate.{kind}", before, {run.name: run for run in after})
    known = {replace(each, index=0) for each in was.waivers}
    for waiver in now.waivers:
        if replace(waiver, index=0) not in known:
            yield Narrowing(f"gate.waive[{waiver.index}]", "absent", f"{waiver.part} waived until {waiver.expires}")


def _of_runs(table: str, was: Collection[RecordedRun], now: Mapping[str, RecordedRun]) -> Iterator[Narrowing]:
    for run in was:
        if run.name in now:
            yield from _of_fields(f"{table} {run.name}", run, now[run.name], _RUN)
        else:
            yield Narrowing(f"{table} {run.name}", run.file, "absent")


def _of_fields(table: str, was: Any, now: Any, judges: Mapping[str, Judges]) -> Iterator[Narrowing]:
    for name, judge in judges.items():
        before, after = getattr(was, name), getattr(now, name)
        if not judge(before, after):
            yield Narrowing(f"{table}.{name.replace('_', '-')}", _words(before), _words(after))


def _words(value: Any) -> str:
    if value is None or value in ((), {}):
        return "absent"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
