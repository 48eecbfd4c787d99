"""The plugin's collector and items. Imported only where `--rigpact-bundle` is given."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.testing.checks import judgements
from rigpact.testing.files import Judgement, NotJudged, Refuted, UserFiles

ROOT = "rigpact"


class RigpactCollector(pytest.Collector):
    """All judgements on the user's files; a child of the session, beside the collected files."""

    files: UserFiles

    @classmethod
    def of(cls, session: pytest.Session, files: UserFiles) -> RigpactCollector:
        """The collector of a session; its name is the first part of every item's name."""
        made: RigpactCollector = cls.from_parent(session, name=ROOT, nodeid=ROOT, path=files.paths.bundle)
        made.files = files
        return made

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """One item for each judgement; an unreadable file fails the collection."""
        option = self.config.option
        drawing = {"examples": option.rigpact_examples, "seed": option.rigpact_seed}
        try:
            found = list(judgements(self.files, strict=option.rigpact_strict, **drawing))
        except UnusableInput as error:
            raise self.CollectError(error.one_line()) from None
        yield from _nodes(self, found, 0)


class RigpactGroup(pytest.Collector):
    """Judgements with the same first parts of their names: one node for each part, so pytest can find a name."""

    members: list[Judgement]
    depth: int

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The members, grouped by the next part of their names."""
        yield from _nodes(self, self.members, self.depth)


def _nodes(parent: pytest.Collector, members: list[Judgement], depth: int) -> Iterator[pytest.Item | pytest.Collector]:
    for name, group in groupby(members, key=lambda judgement: judgement.name[depth]):
        own = list(group)
        if len(own) == 1 and len(own[0].name) == depth + 1:
            yield RigpactItem.of(parent, own[0])
            continue
        made: RigpactGroup = RigpactGroup.from_parent(parent, name=name)
        made.members, made.depth = own, depth + 1
        yield made


class RigpactItem(pytest.Item):
    """One judgement as a test."""

    judgement: Judgement

    @classmethod
    def of(cls, parent: pytest.Collector, judgement: Judgement) -> RigpactItem:
        """The item of a judgement, marked `rigpact`."""
        made: RigpactItem = cls.from_parent(parent, name=judgement.name[-1])
        made.judgement = judgement
        made.add_marker("rigpact")
        return made

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
            notes = [note for note in getattr(error, "__notes__", ()) if note.strip()]
            return "\n".join([str(error), *notes])
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """The place of the judgement: the bundle."""
        return self.path, None, self.nodeid
