"""A family: the rules of one module, what they need, and the function that checks them.

The catalogue lists the families and runs them. Everything else that has to know which rules run on which files reads
`Family.needs`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any, ParamSpec, TypeVar

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.model.graph import ModelGraph
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.subject import MODEL, TRACE, Subject
from rigpact.contract.rules.views.bundle import BundleView, Unread, need
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.rules.views.rows import Rows
from rigpact.contract.rules.views.system_files import DeclaredView
from rigpact.contract.systems.system import NetworkBinding

T = TypeVar("T")
P = ParamSpec("P")
AskedOnce = Callable[[Document], tuple[Finding, ...]]
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

    needs: all that must be given, in the order in which people are asked for it. check: yields the findings about a subject
    that gives what the family needs.
    """

    needs: tuple[Need, ...]
    check: Check

    def is_run_on(self, kinds: Iterable[str]) -> bool:
        """Whether `check` runs this family on files of these kinds."""
        return given_by(kinds).issuperset(self.needs)


def texts(names: Mapping[str, Any]) -> Texts:
    """The rules of a module, by its `globals()`."""
    return Texts(names["__name__"], _rules_in(names))


def family(names: Mapping[str, Any], check: Check, *needs: Need) -> Family:
    """The family of a module, by its `globals()`: its rules, its check, and all that must be given."""
    return Family(names["__name__"], _rules_in(names), needs, check)


def _rules_in(names: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Every rule of a module, by itself or in a table, in the order of definition; such a module imports no rule by its name."""
    values = (each for value in names.values() for each in (value.values() if isinstance(value, Mapping) else (value,)))
    return tuple(dict.fromkeys(value for value in values if isinstance(value, Rule)))


def findings_of(checks: Iterable[Callable[P, Iterable[Finding]]], *parts: P.args, **_: P.kwargs) -> Iterator[Finding]:
    """What each check finds in these parts; it ends where a part that it reads is `Unread`."""
    for check in checks:
        with suppress(Unread):
            yield from check(*parts)  # type: ignore[call-arg]


def on_subject(*checks: Check) -> Check:
    """Check everything together."""
    return lambda subject: findings_of(checks, subject)


def _once(view: Callable[[Document], T], checks: Sequence[Callable[[T], Iterable[Finding]]]) -> AskedOnce:
    """Check a document by itself, whatever it is judged beside; what was found is kept with it."""

    def findings(document: Document) -> tuple[Finding, ...]:
        return tuple(findings_of(checks, document.once(view)))

    return lambda document: document.once(findings)


def on_documents(*checks: Callable[[Document], Iterable[Finding]]) -> Check:
    """Check every JSON file by itself."""
    asked = _once(lambda document: document, checks)
    return lambda subject: chain.from_iterable(map(asked, subject.documents))


def on_bundle(*checks: Callable[[BundleView], Iterable[Finding]]) -> Check:
    """Check the bundle alone."""
    asked = _once(BundleView, checks)
    return lambda subject: () if subject.bundle is None else asked(subject.bundle)


def on_clips(*checks: Callable[[ClipView], Iterable[Finding]]) -> Check:
    """Check every raw clip by itself."""
    asked = _once(ClipView, checks)
    return lambda subject: chain.from_iterable(asked(clip.document) for clip in subject.clips)


def on_rows(*checks: Callable[[Rows], Iterable[Finding]]) -> Check:
    """Check the rows of every teacher file under the bundle."""
    return lambda subject: chain.from_iterable(findings_of(checks, rows) for rows in subject.rows)


def on_graphs(*checks: Callable[[ModelGraph], Iterable[Finding]]) -> Check:
    """Check the nodes and weights of every model."""
    return lambda subject: chain.from_iterable(
        findings_of(checks, model.graph) for model in subject.models if model.graph is not None
    )


def on_declaration(*checks: Callable[[DeclaredView], Iterable[Finding]]) -> Check:
    """Check a declared contract that has no mistakes."""
    return lambda subject: findings_of(checks, need(need(subject.system).declared))


def on_declared_networks(*checks: Callable[[DeclaredView, NetworkBinding, ModelSignature], Iterable[Finding]]) -> Check:
    """Check every model of one network against the contract that declares the network."""

    def findings(subject: Subject) -> Iterator[Finding]:
        files = need(subject.system)
        view = need(files.declared)
        for model in files.bound:
            networks = () if model.part is None else tuple(model.part.networks.values())
            if len(networks) == 1:
                yield from findings_of(checks, view, networks[0], model.signature)

    return findings
