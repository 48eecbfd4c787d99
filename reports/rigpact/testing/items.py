"""The plugin's collectors and items. Imported only where `--rigpact-bundle` is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.testing.checks import judgements
from rigpact.testing.files import Judgement, NotJudged, Paths, Refuted, files_of

ROOT = "rigpact"


def collector_of(session: pytest.Session, paths: Paths) -> JudgementGroup:
    """All judgements on the user's files, beside the collected files; its name is the first part of every item's name."""
    option = session.config.option

    def members() -> list[Judgement]:
        drawing = {"examples": option.rigpact_examples, "seed": option.rigpact_seed}
        return list(judgements(files_of(paths), strict=option.rigpact_strict, **drawing))

    return _group(session, members, 0, name=ROOT, nodeid=ROOT, path=paths.bundle)


def _group(parent: Any, members: Callable[[], Sequence[Judgement]], depth: int, **where: Any) -> JudgementGroup:
    made: JudgementGroup = JudgementGroup.from_parent(parent, **where)
    made.members, made.depth = members, depth
    return made


class JudgementGroup(pytest.Collector):
    """Judgements with the same first parts of their names: one node for each part, so pytest can find a name."""

    members: Callable[[], Sequence[Judgement]]
    depth: int

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The members, grouped by the next part of their names; an unreadable file fails the collection."""
        try:
            found = self.members()
        except UnusableInput as error:
            raise self.CollectError(error.one_line()) from None
        for name, group in groupby(found, key=lambda judgement: judgement.name[self.depth]):
            own = list(group)
            if len(own) == 1 and len(own[0].name) == self.depth + 1:
                item: RigpactItem = RigpactItem.from_parent(self, name=name)
                item.judgement = own[0]
                item.add_marker("rigpact")
                yield item
            else:
                yield _group(self, lambda own=own: own, self.depth + 1, name=name)  # type: ignore[misc]


class RigpactItem(pytest.Item):
    """One judgement as a test, marked `rigpact`."""

    judgement: Judgement

    def runtest(self) -> None:
        """Judge; a judgement that the files do not allow is skipped with its reason."""
        try:
            self.judgement.judge()
        except NotJudged as reason:
            pytest.skip(str(reason))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The text of a failure: the finding, or one line about a file; a traceback only for a defect of rigpact."""
        error = excinfo.value
        if isinstance(error, UnusableInput):
            return error.one_line()
        if isinstance(error, Refuted):
            return "\n".join([str(error), *(note for note in getattr(error, "__notes__", ()) if note.strip())])
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """The place of the judgement: the bundle."""
        return self.path, None, self.nodeid
