"""The contract of another system than the enemy animation, and the files that are judged by it, as rules read them.

A declaration without mistakes: tables with their places, numbers of stages, where channels come from.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.cross_checks import declared_tables, said_at_stages
from rigpact.contract.declared.declaration import Declaration
from rigpact.contract.declared.reading import declaration_of
from rigpact.contract.declared.vocabulary import stands_in
from rigpact.contract.documents import Document, Kind
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.bundle_view import Unread, need
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.system import NetworkBinding, System

Channel = tuple[str, int]
"""A stage and the place of one of its numbers."""


@dataclass(frozen=True, eq=False)
class DeclaredView:
    """A document, what it declares, and the system that this makes."""

    document: Document
    declaration: Declaration
    system: System

    @property
    def root(self) -> Mapping[str, Any]:
        return self.document.data

    @property
    def path(self) -> object:
        return self.document.path

    @cached_property
    def tables(self) -> Mapping[str, Mapping[str, Any]]:
        """The tables of vectors and stages, by name, in order; with the words that [conventions] says of them."""
        return {table["name"]: table for _, table in declared_tables(said_at_stages(self.root))}

    @cached_property
    def _places(self) -> Mapping[str, tuple[Any, ...]]:
        return {table["name"]: place for place, table in declared_tables(self.root)}

    def at(self, stage: str, *keys: str) -> str:
        return json_pointer(*self._places[stage], *keys)

    def stages_of(self, *operations: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the stages that use one of these operations."""
        yield from ((name, table) for name, table in self.tables.items() if self.operation(name) in operations)

    def operation(self, stage: str) -> str:
        """The operation of a stage; '' for a given vector, and for an operation that stands in for rigpact's own."""
        word = str(self.tables[stage].get("operation", ""))
        return "" if stands_in(word) else word

    def inputs_of(self, stage: str) -> tuple[str, ...]:
        """The vectors that a stage is computed from."""
        of = self.tables[stage].get("of", ())
        return (of,) if isinstance(of, str) else tuple(of)

    def layout(self, stage: str) -> FieldLayout:
        return self.system.graph[stage].fields(None)

    def names(self, stage: str) -> tuple[str, ...]:
        return tuple(each.name for each in self.layout(stage))

    @property
    def lists(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(words) for name, words in self.root.get("names", {}).items()}

    def list_of(self, names: tuple[str, ...]) -> str:
        """What a list of names is called; its first names where it has no name."""
        return next((name for name, words in self.lists.items() if words == names), f"{', '.join(names[:3])}, …")

    def numbers(self, stage: str, key: str) -> FloatArray | None:
        """The declared numbers of a parameter, flat; None where the stage does not have it."""
        given = self.tables[stage].get(key)
        if given is None:
            return None
        own = self.declaration.constants.get(stage, {}).get(key)
        if own is None:
            own = self.declaration.constants["numbers"][given["value"] if isinstance(given, Mapping) else given]
        return np.array(own, np.float64).reshape(-1)

    def scale(self, stage: str) -> FloatArray | None:
        """The factor of each number of a stage that scales, or one for all; None for another stage."""
        operation = self.operation(stage)
        if operation == "affine":
            return self.numbers(stage, "scale")
        std = self.numbers(stage, "std") if operation in ("normalise", "denormalise") else None
        if std is None or self.tables[stage].get("applied") == "skipped":
            return None
        epsilon, floor = (self.numbers(stage, key) for key in ("epsilon", "floor"))
        spread = std + (0.0 if epsilon is None else epsilon)
        spread = spread if floor is None else np.maximum(spread, floor)
        return spread if operation == "denormalise" else 1.0 / np.where(spread == 0.0, np.inf, spread)

    def channels(self, stage: str) -> tuple[Channel, ...]:
        """For each number of a vector, the stage that computes it: what only arranges or limits numbers is looked through."""
        table, inputs = self.tables[stage], self.inputs_of(stage)
        looked_through = _ARRANGED.get(self.operation(stage))
        if self.operation(stage) == "concatenate" and "layout" in table:
            looked_through = None  # its parts are interleaved
        own = tuple((stage, index) for index in range(self.layout(stage).width))
        if looked_through is None or not inputs:
            return own
        found = looked_through(self, stage, [self.channels(each) for each in inputs])
        return found if len(found) == len(own) else own

    def networks(self) -> Iterator[NetworkBinding]:
        yield from self.system.networks.values()


def _joined(_view: DeclaredView, _stage: str, parts: list[tuple[Channel, ...]]) -> tuple[Channel, ...]:
    return tuple(channel for part in parts for channel in part)


def _selected(view: DeclaredView, stage: str, parts: list[tuple[Channel, ...]]) -> tuple[Channel, ...]:
    source = view.layout(view.inputs_of(stage)[0])
    take = view.tables[stage].get("take", ())
    names = view.lists[take] if isinstance(take, str) else take
    return tuple(channel for name in names if name in source for channel in parts[0][source[name].range])


def _kept(view: DeclaredView, stage: str, parts: list[tuple[Channel, ...]]) -> tuple[Channel, ...]:
    length, layout = int(view.tables[stage]["length"]), view.tables[stage].get("layout", "term_major")
    if layout == "term_major":
        return tuple(channel for part in parts for channel in part * length)
    if layout == "frame_major":
        return _joined(view, stage, parts) * length
    return tuple(channel for part in parts for channel in part for _ in range(length))


_ARRANGED = {"concatenate": _joined, "clip": _joined, "shift": _joined, "select": _selected, "history": _kept}


@dataclass(frozen=True, eq=False)
class DeclaredNetwork:
    """A model of one network, beside the contract that declares the network; metadata that is not there says nothing."""

    view: DeclaredView
    network: NetworkBinding
    model: ModelSignature

    def words(self, key: str) -> tuple[str, ...]:
        """Words of the metadata apart by commas, joints without `_joint`."""
        text = need(self.model.graph).metadata.get(key, "")
        return tuple(word.strip().removesuffix("_joint") for word in text.split(",") if word.strip())

    def numbers(self, key: str) -> FloatArray:
        """Numbers apart by commas; `Unread` where they are not there, or in another encoding, of which nothing is known."""
        try:
            return np.array([float(word) for word in need(self.model.graph).metadata[key].split(",")])
        except (KeyError, ValueError):
            raise Unread from None

    def own_names(self, vector: str) -> tuple[str, ...]:
        """The names of a vector's fields, joints without `_joint`."""
        return tuple(name.removesuffix("_joint") for name in self.view.names(vector))


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
