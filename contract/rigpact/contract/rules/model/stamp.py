"""RP770: a model that carries the hash of another contract. `rigpact codegen --stamp` writes the hash."""

from collections.abc import Iterator

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.model.copies import STAMP
from rigpact.contract.rules.family import Artefacts, Need, family

OTHER_CONTRACT = Rule.of("""RP770 error model-stamped-for-other-contract
    the model is stamped for the contract {found}, this one is {expected}
    hint: take the contract that the model was exported with; if this one is meant, `rigpact codegen --stamp` writes its hash
    why: a model and a contract of different runs load together, and nothing crashes""")
_HASH_CHARACTERS = 12


def _check_stamp(subject: Artefacts) -> Iterator[Finding]:
    expected = _sha256(subject)
    for model in subject.models if expected is not None else ():
        sha256 = str(expected)
        found = model.graph.metadata.get(STAMP) if model.graph is not None else None
        if found is not None and found != sha256:
            yield OTHER_CONTRACT.at(
                model.path, ("metadata", STAMP), found=found[:_HASH_CHARACTERS], expected=sha256[:_HASH_CHARACTERS]
            )


def _sha256(subject: Artefacts) -> str | None:
    if subject.system is not None:
        return None if subject.system.contract is None else subject.system.contract.sha256
    return None if subject.bundle is None else subject.bundle.file.sha256


FAMILY = family(globals(), (Need.MODEL, Need.CONTRACT), _check_stamp)
