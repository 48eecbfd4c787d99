"""A family: the rules of one module, what they need, and the function that checks them.

The catalogue lists the families. Everything else that has to know which rules run on which files reads `Family.needs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TypeVar

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.bundle.view import BundleView
from rigpact.contract.rules.clips.view import ClipView
from rigpact.contract.rules.subject import MODEL, Subject
from rigpact.contract.rules.teacher.rows import Rows

T = TypeVar("T")
Check = Callable[[Subject], Iterable[Finding]]


class Need(StrEnum):
    """What a family of rules reads; without it, the family cannot be judged."""

    DOCUMENT = "any JSON file"
    BUNDLE = "a bundle"
    STATISTICS = "statistics of the auxiliary inputs, in a bundle or a companion"
    CLIP = "a raw clip"
    ROWS = "a teacher batch or prediction"
    PREDICTION = "a teacher prediction"
    MODEL = "a model"
    GRAPH = "the nodes and weights of a model"
    RECORDINGS = "two recordings"
    BASELINE = "settings that let findings be"
    PROJECT = "a project under the gate"
    COMMIT = "the files of a commit"
    FUNCTIONS = "the functions of a training side"
    SYSTEM_CONTRACT = "the contract file of another system"
    SYSTEM_DATA = "recordings of another system"


GIVES: Mapping[str, frozenset[Need]] = {
    Kind.BUNDLE: frozenset({Need.DOCUMENT, Need.BUNDLE, Need.STATISTICS}),
    Kind.COMPANION: frozenset({Need.DOCUMENT, Need.STATISTICS}),
    Kind.RAW_CLIP: frozenset({Need.DOCUMENT, Need.CLIP}),
    Kind.TEACHER_BATCH: frozenset({Need.DOCUMENT, Need.ROWS}),
    Kind.TEACHER_PREDICTION: frozenset({Need.DOCUMENT, Need.ROWS, Need.PREDICTION}),
    MODEL: frozenset({Need.MODEL, Need.GRAPH}),
}
"""What each kind of file gives to the families that `check` runs."""


@dataclass(frozen=True)
class Family:
    """The rules of one module.

    module: the module's `__name__`. needs: all that must be given, in the order in which people are asked for it.
    check: yields the findings about a subject that gives what the family needs. It is None where a command of its own
    checks the rules: a comparison, the gate.
    """

    module: str
    rules: tuple[Rule, ...]
    needs: tuple[Need, ...]
    check: Check | None = None

    @property
    def name(self) -> str:
        """The last part of the module's name."""
        return self.module.rpartition(".")[2]

    def is_run_on(self, kinds: Iterable[str]) -> bool:
        """Whether `check` runs this family on files of these kinds."""
        given = frozenset[Need]().union(*(GIVES[kind] for kind in kinds))
        return self.check is not None and given.issuperset(self.needs)


def rules_in(names: Mapping[str, object]) -> tuple[Rule, ...]:
    """Every rule among the `globals()` of a module, in the order of definition. Such a module imports no rule by its name."""
    return tuple(value for value in names.values() if isinstance(value, Rule))


def on_documents(check: Callable[[Document], Iterator[Finding]]) -> Check:
    """Check every JSON file by itself."""

    def findings(document: Document) -> tuple[Finding, ...]:
        return tuple(check(document))

    return lambda subject: _each(lambda document: document.once(findings), subject.documents)


def on_bundle(check: Callable[[BundleView], Iterator[Finding]]) -> Check:
    """Check the bundle alone."""

    def findings(document: Document) -> tuple[Finding, ...]:
        return tuple(check(document.once(BundleView)))

    return lambda subject: () if subject.bundle is None else subject.bundle.once(findings)


def on_clips(check: Callable[[ClipView], Iterator[Finding]]) -> Check:
    """Check every raw clip by itself."""

    def findings(document: Document) -> tuple[Finding, ...]:
        return tuple(check(document.once(ClipView)))

    return lambda subject: _each(lambda clip: clip.document.once(findings), subject.clips)


def on_rows(check: Callable[[Rows], Iterator[Finding]]) -> Check:
    """Check the rows of every teacher file under the bundle."""
    return lambda subject: _each(check, subject.rows)


def _each(check: Callable[[T], Iterable[Finding]], values: Iterable[T]) -> Iterator[Finding]:
    return chain.from_iterable(map(check, values))
