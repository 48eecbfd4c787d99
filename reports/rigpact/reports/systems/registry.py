"""Which system a file belongs to, by what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rigpact.contract.documents import Document, Kind, kind_of
from rigpact.contract.files import read_json
from rigpact.reports.systems.enemy_animation import EnemyAnimation

if TYPE_CHECKING:
    from rigpact.reports.systems.interface import ReportedSystem


def system_of(bundle: Path | None) -> ReportedSystem:
    """The system of a bundle or contract file; without one the enemy animation, whose recordings need none."""
    if bundle is None:
        return EnemyAnimation()
    data = read_json(bundle).data
    return _system(kind_of(data) is Kind.SYSTEM_CONTRACT if isinstance(data, dict) else False)


def system_of_documents(documents: Sequence[Document]) -> ReportedSystem:
    """The system that some artefacts are of."""
    return _system(any(document.kind is Kind.SYSTEM_CONTRACT for document in documents))


def _system(is_hosted: bool) -> ReportedSystem:  # noqa: FBT001 - two answers to one question
    if not is_hosted:
        return EnemyAnimation()
    from rigpact.reports.systems.hosted import HostedSystem

    return HostedSystem()
