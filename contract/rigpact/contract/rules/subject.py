"""The subject of one check: the given artefacts, and the parts that the rules read."""

from dataclasses import dataclass
from functools import cached_property

from rigpact.contract.documents import Document, Kind
from rigpact.contract.model.graph import ModelGraph
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.views.bundle import Auxiliary, BundleView, auxiliaries
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.rules.views.rows import Rows, TeacherView
from rigpact.contract.rules.views.system_files import SystemFiles

MODEL, TRACE = "model", "trace"
"""The kinds of file that are not JSON documents."""


@dataclass(frozen=True)
class Subject:
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

    @property
    def kinds(self) -> set[str]:
        """The kinds of the artefacts. A system that is given without a file counts as its contract."""
        own = {Kind.SYSTEM_CONTRACT.value} if self.system is not None and self.system.document is None else set()
        return own | {file["kind"] for file in self.files}

    @cached_property
    def view(self) -> BundleView | None:
        """The bundle as rules read it."""
        return None if self.bundle is None else self.bundle.once(BundleView)

    @cached_property
    def auxiliaries(self) -> tuple[Auxiliary, ...]:
        """The files that may hold statistics of the auxiliary inputs: the bundle, then the companion."""
        return auxiliaries(self.view, self.companion)

    @cached_property
    def clips(self) -> tuple[ClipView, ...]:
        """Every raw clip."""
        return tuple(document.once(ClipView) for document in self.others if document.kind is Kind.RAW_CLIP)

    @cached_property
    def teachers(self) -> tuple[TeacherView, ...]:
        """Every teacher batch and prediction."""
        return tuple(document.once(TeacherView) for document in self.others if document.kind is not Kind.RAW_CLIP)

    @cached_property
    def rows(self) -> tuple[Rows, ...]:
        """The rows of every teacher file under the bundle; none without a bundle."""
        view = self.view
        return () if view is None else tuple(Rows(file, view, self.auxiliaries) for file in self.teachers)
