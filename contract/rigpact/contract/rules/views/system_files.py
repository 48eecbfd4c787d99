"""The contract of another system than the enemy animation, and the files that are judged by it, as rules read them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rigpact.contract.declared.reading import declaration_of
from rigpact.contract.documents import Document, Kind
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.views.declaration import DeclaredView
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System


@dataclass(frozen=True, eq=False)
class BoundModel:
    """A model, and the system with the model's network alone; None where nothing is known of the system."""

    signature: ModelSignature
    part: System | None


@dataclass(frozen=True, eq=False)
class RecordedRows:
    """A recording or data set: its rows by stage, (T, width), and what its header says of system and contract.

    truncation: where a file that was cut off ends, None if it is whole. lost: how far numbers may be from those that were
    written, None where every bit was kept.
    """

    path: Path
    sha256: str
    system: str | None
    contract_sha256: str | None
    meaning_sha256: str | None
    truncation: str | None
    stages: Mapping[str, FloatArray]
    lost: Callable[[FloatArray], FloatArray] | None = None


@dataclass(frozen=True, eq=False)
class SystemFiles:
    """What is judged together. document: the contract's file. contract: what it declares, None where it is refused."""

    document: Document | None = None
    contract: Contract | None = None
    models: tuple[BoundModel, ...] = ()
    recordings: tuple[RecordedRows, ...] = ()

    @property
    def bound(self) -> tuple[BoundModel, ...]:
        """The models whose part of the system is known."""
        return tuple(each for each in self.models if each.part is not None)

    @cached_property
    def declared(self) -> DeclaredView | None:
        """A declared contract without mistakes; None for another one."""
        document, contract = self.document, self.contract
        if document is None or contract is None or document.kind is not Kind.DECLARATION:
            return None
        return DeclaredView(document, declaration_of(document), contract.system)
