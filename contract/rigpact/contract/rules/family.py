"""A family: the rules of one module, what they need, and the functions that check them.

The catalogue lists the families and runs them. A check says by the types of its parameters what it reads: it is run on every
such part of a subject. What has to know which rules run on which files reads `Family.needs`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from inspect import get_annotations
from itertools import product
from typing import Any, ParamSpec

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.model.graph import ModelGraph
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.subject import MODEL, TRACE, Subject
from rigpact.contract.rules.views.bundle import Auxiliary, BundleView, Unread
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.rules.views.rows import Rows, TeacherView
from rigpact.contract.rules.views.system_files import DeclaredNetwork, DeclaredView, SystemFiles

P = ParamSpec("P")
Check = Callable[..., Iterable[Finding]]


class Need(StrEnum):
    """What a family of rules reads; without it, the family cannot be judged."""

    DOCUMENT = "any JSON file"
    BUNDLE = "a bundle"
    STATISTICS = "statistics of the auxiliary inputs, in a bundle or a companion"
    CLIP = "a raw clip"
    ROWS = "a teacher batch or prediction"
    PREDICTION = "a teacher prediction"
    MODEL = "a model"
    POSITIONS = "a model whose inputs an engine binds by position"
    CONTRACT = "a bundle or a contract"
    SYSTEM_CONTRACT = "the contract of another system"
    CONTRACT_FILE = "the contract file of a system that rigpact hosts"
    DECLARATION = "your own contract"
    SYSTEM_DATA = "recordings of another system"


GIVES: Mapping[str, frozenset[Need]] = {
    Kind.BUNDLE: frozenset({Need.DOCUMENT, Need.BUNDLE, Need.STATISTICS, Need.CONTRACT}),
    Kind.COMPANION: frozenset({Need.DOCUMENT, Need.STATISTICS}),
    Kind.RAW_CLIP: frozenset({Need.DOCUMENT, Need.CLIP}),
    Kind.TEACHER_BATCH: frozenset({Need.DOCUMENT, Need.ROWS}),
    Kind.TEACHER_PREDICTION: frozenset({Need.DOCUMENT, Need.ROWS, Need.PREDICTION}),
    MODEL: frozenset({Need.MODEL, Need.POSITIONS}),
    Kind.SYSTEM_CONTRACT: frozenset({Need.DOCUMENT, Need.CONTRACT, Need.SYSTEM_CONTRACT, Need.CONTRACT_FILE}),
    Kind.DECLARATION: frozenset({Need.DOCUMENT, Need.CONTRACT, Need.SYSTEM_CONTRACT, Need.DECLARATION}),
    TRACE: frozenset({Need.SYSTEM_DATA}),
}
"""What each kind of file gives to the families that `check` runs."""


def given_by(kinds: Iterable[str]) -> frozenset[Need]:
    """What files of these kinds give together: the contract of another system says itself how its models are bound."""
    given = frozenset[Need]().union(*(GIVES[kind] for kind in kinds))
    return given - {Need.POSITIONS} if Need.SYSTEM_CONTRACT in given else given


@dataclass(frozen=True)
class Texts:
    """The rules of one module whose findings come with a measurement: a comparison, the gate, a training side's functions.

    module: the module's `__name__`. Whoever measures judges the numbers; these rules judge no file.
    """

    module: str
    rules: tuple[Rule, ...]

    @property
    def name(self) -> str:
        """The last part of the module's name."""
        return self.module.rpartition(".")[2]


@dataclass(frozen=True)
class Family(Texts):
    """The rules of one module about files.

    needs: all that must be given, in the order in which people are asked for it. checks: each yields the findings about the
    parts of a subject that its parameters name by their types, see `_PARTS`.
    """

    needs: tuple[Need, ...]
    checks: tuple[Check, ...]

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """What the checks find; of a check that reads more than one part, in every combination of them."""
        for check in self.checks:
            kinds = [kind for name, kind in get_annotations(check).items() if name != "return"]
            for chosen in product(*(_PARTS[kind](subject) for kind in kinds)):
                yield from _alone(check, *chosen) if len(kinds) == 1 else findings_of((check,), *chosen)


def texts(names: Mapping[str, Any]) -> Texts:
    """The rules of a module, by its `globals()`."""
    return Texts(names["__name__"], _rules_in(names))


def family(names: Mapping[str, Any], needs: tuple[Need, ...], *checks: Check) -> Family:
    """The family of a module, by its `globals()`: its rules, all that must be given, and its checks."""
    return Family(names["__name__"], _rules_in(names), needs, checks)


def _rules_in(names: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Every rule of a module, by itself or in a table, in the order of definition; such a module imports no rule by its name."""
    values = (each for value in names.values() for each in (value.values() if isinstance(value, Mapping) else (value,)))
    return tuple(dict.fromkeys(value for value in values if isinstance(value, Rule)))


def findings_of(checks: Iterable[Callable[P, Iterable[Finding]]], *parts: P.args, **_: P.kwargs) -> Iterator[Finding]:
    """What each check finds in these parts; it ends where a part that it reads is `Unread`."""
    for check in checks:
        with suppress(Unread):
            yield from check(*parts)  # type: ignore[call-arg]


def _alone(check: Check, part: Any) -> Iterable[Finding]:
    """What is found in one part; of a document that is judged by itself, kept with it, whatever it is judged beside."""
    if not isinstance(part, Document | BundleView | ClipView):
        return findings_of((check,), part)
    document = part if isinstance(part, Document) else part.document
    kept: dict[Check, tuple[Finding, ...]] = document.once(_kept)
    if check not in kept:
        kept[check] = tuple(findings_of((check,), part))
    return kept[check]


def _kept(_: Document) -> dict[Check, tuple[Finding, ...]]:
    return {}


def _networks(subject: Subject) -> Iterator[DeclaredNetwork]:
    """Every model of one network, with the contract that declares the network."""
    view = None if subject.system is None else subject.system.declared
    if subject.system is None or view is None:
        return
    for model in subject.system.bound:
        networks = () if model.part is None else tuple(model.part.networks.values())
        if len(networks) == 1:
            yield DeclaredNetwork(view, networks[0], model.signature)


def _given(*parts: Any) -> Iterable[Any]:
    return (part for part in parts if part is not None)


_PARTS: Mapping[Any, Callable[[Subject], Iterable[Any]]] = {
    Subject: lambda subject: (subject,),
    Document: lambda subject: subject.documents,
    BundleView: lambda subject: _given(subject.view),
    BundleView | None: lambda subject: (subject.view,),
    Auxiliary: lambda subject: subject.auxiliaries,
    ClipView: lambda subject: subject.clips,
    TeacherView: lambda subject: subject.teachers,
    Rows: lambda subject: subject.rows,
    ModelSignature: lambda subject: subject.models,
    ModelGraph: lambda subject: _given(*(model.graph for model in subject.models)),
    SystemFiles: lambda subject: _given(subject.system),
    DeclaredView: lambda subject: _given(None if subject.system is None else subject.system.declared),
    DeclaredNetwork: _networks,
}
"""The parts of a subject by the type under which checks ask for them; one with `None` is given to them in any case."""
