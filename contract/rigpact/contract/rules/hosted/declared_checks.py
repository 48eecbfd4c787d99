"""Every rule about a contract of one's own that has no mistakes, and about the models that it names."""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.contract.declared.declaration import Declaration
from rigpact.contract.documents import Document
from rigpact.contract.findings import Finding
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.hosted.declared_metadata import check_metadata
from rigpact.contract.rules.hosted.declared_models import check_edges
from rigpact.contract.rules.hosted.declared_numbers import check_numbers
from rigpact.contract.rules.hosted.declared_orders import check_orders
from rigpact.contract.rules.hosted.declared_profile import check_profile
from rigpact.contract.rules.hosted.declared_stages import check_stages
from rigpact.contract.rules.hosted.declared_view import DeclaredView
from rigpact.contract.systems.system import System


def check_meaning(document: Document, declaration: Declaration) -> Iterator[Finding]:
    """Yield what a declaration says that cannot be meant; nothing where mistakes keep it from being used."""
    if declaration.system is None:
        return
    view = DeclaredView(document, declaration, declaration.system)
    for check in (check_profile, check_orders, check_numbers, check_stages):
        yield from check(view)


def check_declared_model(
    document: Document, declaration: Declaration, part: System, model: ModelSignature
) -> Iterator[Finding]:
    """Yield where a model and the declaration say different things. part: the system with the model's network alone."""
    if declaration.system is None or len(part.networks) != 1:
        return
    view = DeclaredView(document, declaration, declaration.system)
    (network,) = part.networks.values()
    yield from check_edges(view, network, model)
    yield from check_metadata(view, network, model)
