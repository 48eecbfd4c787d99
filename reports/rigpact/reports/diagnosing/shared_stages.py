"""What replays under different conventions have in common: most of a pair of changes is known from its singles."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from rigpact.contract.conventions import KNOBS, STAGES, Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.replay import Evidence, path_of


class SharedStages:
    """Computed stages that replays under different conventions have in common, by the conventions that matter to them.

    Only what at most one change leads to is kept: the pairs of a search would fill the memory.
    """

    def __init__(self, evidence: Evidence, base: Conventions) -> None:
        """`base` is what changes are counted from."""
        self._base, self._stages = base, dict[Hashable, FloatArray | None]()
        paths = {stage: path_of(stage, evidence.recorded) for stage in STAGES}
        self._knobs = {
            stage: tuple(name for name, knob in KNOBS.items() if not path.isdisjoint(knob.stages))
            for stage, path in paths.items()
        }

    def stage(
        self, stage: str, conventions: Conventions, compute: Callable[[], FloatArray | None]
    ) -> FloatArray | None:
        """The stage under these conventions, computed if it is not known yet."""
        changes = {(name, getattr(conventions, name)) for name in self._knobs[stage]}
        key = (stage, frozenset(change for change in changes if change[1] != getattr(self._base, change[0])))
        if key in self._stages:
            return self._stages[key]
        computed = compute()
        if len(key[1]) <= 1:
            self._stages[key] = computed
        return computed
