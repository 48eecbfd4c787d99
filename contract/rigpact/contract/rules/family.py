"""A subject: the artefacts of one check. A family: rules about one thing, what they need, and the functions that check them.

The catalogue lists the families and runs them. A check says by the types of its parameters what it reads: it is run on every
such part of a subject. What has to know which rules run on which files reads `Family.needs`.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from inspect import get_annotations
from itertools import product
from pathlib import Path
from typing import Any, ParamSpec

from rigpact.contract.documents import Document, Kind
from rigpact.contract.findings import Finding, Rule, Severity
from rigpact.contract.model.graph import ModelGraph
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.bundle_view import Auxiliary, BundleView, Unread, auxiliaries
from rigpact.contract.rules.motion_view import ClipView, Rows, TeacherView
from rigpact.contract.rules.system_view import DeclaredNetwork, DeclaredView, RecordedRows, SystemFiles
from rigpact.contract.systems.contract import Contract

P = ParamSpec("P")
Check = Callable[..., Iterable[Finding]]
MODEL, TRACE = "model", "trace"
"""The kinds of file that are not JSON documents."""


@dataclass(frozen=True)
class Artefacts:
    """The artefacts of one check: a bundle, its companion, files made with it, and a model; any of them may be absent.

    others: clips, teacher batches and teacher predictions. graph_beside: of a model that is judged elsewhere; rules about the
    other files may read it. system: in place of the bundle, the contract of another system and the files that belong to it.
    """

    bundle: Document | None = None
    companion: Document | None = None
    others: tuple[Document, ...] = ()
    model: ModelSignature | None = None
    graph_beside: ModelGraph | None = None
    system: SystemFiles | None = None

    @property
    def graph(self) -> ModelGraph | None:
        """The nodes of the model that belongs to these files, wherever it is judged; None where there is none to read."""
        return self.graph_beside if self.model is None else self.model.graph

    @property
    def documents(self) -> tuple[Document, ...]:
        """Every JSON artefact, the bundle first."""
        contract = None if self.system is None else self.system.document
        return tuple(each for each in (self.bundle, contract, self.companion, *self.others) if each is not None)

    @property
    def models(self) -> tuple[ModelSignature, ...]:
        """Every model that can be judged: the one of the bundle, or those whose part of their system is known."""
        bound = () if self.system is None else self.system.bound
        return (*(() if self.model is None else (self.model,)), *(each.signature for each in bound))

    @property
    def files(self) -> list[dict[str, str]]:
        """Path, kind and hash of every artefact."""
        listed = [(each.path, each.kind.value, each.file.sha256) for each in self.documents]
        if self.model is not None:
            listed.append((self.model.path, MODEL, self.model.sha256))
        if self.system is not None:
            listed += [(each.signature.path, MODEL, each.signature.sha256) for each in self.system.models]
            listed += [(each.path, TRACE, each.sha256) for each in self.system.recordings]
        return [{"path": str(path), "kind": kind, "sha256": digest} for path, kind, digest in listed]

    @cached_property
    def view(self) -> BundleView | None:
        return None if self.bundle is None else self.bundle.once(BundleView)

    @cached_property
    def auxiliaries(self) -> tuple[Auxiliary, ...]:
        """The files that may hold statistics of the auxiliary inputs: the bundle, then the companion."""
        return auxiliaries(self.view, self.companion)

    @cached_property
    def clips(self) -> tuple[ClipView, ...]:
        return tuple(document.once(ClipView) for document in self.others if document.kind is Kind.RAW_CLIP)

    @cached_property
    def teachers(self) -> tuple[TeacherView, ...]:
        return tuple(document.once(TeacherView) for document in self.others if document.kind is not Kind.RAW_CLIP)

    @cached_property
    def rows(self) -> tuple[Rows, ...]:
        """The rows of every teacher file under the bundle; none without a bundle."""
        view = self.view
        return () if view is None else tuple(Rows(file, view, self.auxiliaries) for file in self.teachers)


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


@dataclass(frozen=True)
class Texts:
    """Rules about one thing. about: what they are about, in words."""

    about: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Family(Texts):
    """Rules about files.

    needs: all that must be given, in the order in which people are asked for it. checks: each yields the findings about the
    parts of a subject that its parameters name by their types, see `_PARTS`.
    """

    needs: tuple[Need, ...]
    checks: tuple[Check, ...]

    def findings(self, subject: Artefacts) -> Iterator[Finding]:
        """What the checks find; of a check that reads more than one part, in every combination of them."""
        for check in self.checks:
            kinds = [kind for name, kind in get_annotations(check).items() if name != "return"]
            for chosen in product(*(_PARTS[kind](subject) for kind in kinds)):
                yield from _alone(check, *chosen) if len(kinds) == 1 else findings_of((check,), *chosen)


class Rules:
    """The rules of a module by their names in rules.toml, as `rules.STD_NOT_POSITIVE`; `families`: those of each family."""

    def __init__(self, module: str) -> None:
        self._by_name: dict[str, Rule] = {}
        self.families: dict[str, Texts] = {}
        for name, family in _texts()[module].items():
            own = {key: _rule(**entry) for key, entry in family.items() if key != "about"}
            self._by_name |= own
            self.families[name] = Texts(family["about"], tuple(own.values()))

    def __getattr__(self, name: str) -> Rule:
        by_name: dict[str, Rule] = vars(self).get("_by_name", {})
        if name not in by_name:
            raise AttributeError(f"rules.toml has no rule {name} of this module")
        return by_name[name]

    def family(self, name: str, needs: tuple[Need, ...], *checks: Check) -> Family:
        """One of its families: all that must be given, and what finds its findings."""
        own = self.families[name]
        return Family(own.about, own.rules, needs, checks)


@cache
def _texts() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))


def _rule(rule: str, message: str, hint: str, why: str, about: str = "", follows: str = "") -> Rule:
    code, severity, name, *refused = rule.split()
    own = tuple(follows.split())
    return Rule(code, name, message, hint, why, bool(refused), about, own, severity=Severity(severity))


answers, geometry = Rules("answers"), Rules("geometry")
"""Rules whose findings come with a measurement: two recordings, a run, waivers, the gate; a training side's functions.

Whoever measures judges the numbers; these rules judge no file.
"""


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


def _networks(subject: Artefacts) -> Iterator[DeclaredNetwork]:
    files = subject.system or SystemFiles()
    for model in files.bound if files.declared is not None else ():
        networks = () if model.part is None else tuple(model.part.networks.values())
        if files.declared is not None and len(networks) == 1:
            yield DeclaredNetwork(files.declared, networks[0], model.signature)


def _given(*parts: Any) -> Iterable[Any]:
    return (part for part in parts if part is not None)


_PARTS: Mapping[Any, Callable[[Artefacts], Iterable[Any]]] = {
    Artefacts: lambda subject: (subject,),
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
    Contract: lambda subject: _given((subject.system or SystemFiles()).contract),
    RecordedRows: lambda subject: (subject.system or SystemFiles()).recordings,
    DeclaredView: lambda subject: _given((subject.system or SystemFiles()).declared),
    DeclaredNetwork: _networks,
}
"""The parts of a subject by the type under which checks ask for them; one with `None` is given to them in any case."""
