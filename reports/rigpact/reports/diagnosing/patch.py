"""The conventions that a diagnosis found, as a change of the contract, and its proof: the recording explained under it.

Your own contract becomes the same file with the changed words, a system's contract file the same with other conventions.
What no file can say, as the conventions of a schema bundle, becomes a TOML file for `--conventions`; `--set` says the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rigpact.contract.contract_files import contract_to_bytes
from rigpact.contract.declared.reading import with_answered_words, with_changed_words
from rigpact.contract.documents import Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.files.reading import inputs_may_be_replaced
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.diagnosis_text import shown_value
from rigpact.reports.diagnosing.explain import ExplainRequest, explain
from rigpact.reports.diagnosing.opened import answered_text


@dataclass(frozen=True)
class Patch:
    """A written change. contract: what it is opened with. words: how to say the same on a command line. proof: what the recording
    is under it."""

    contract: ContractFiles
    words: str
    proof: Diagnosis

    @property
    def sentence(self) -> str:
        """How to use it, and whether the recording agrees with it."""
        differs = [stage.stage for stage in self.proof.stages if stage.ok is False]
        if not differs and self.proof.verdict in ("agrees", "undetermined"):
            judged = sum(stage.ok is True for stage in self.proof.stages)
            return (
                f"{self.words}; replayed with it, the recording agrees in {judged} of {len(self.proof.stages)} stages"
            )
        return f"{self.words}; replayed with it, the recording still differs in {', '.join(differs) or 'what it says above'}"


def write_patch(path: Path, diagnosis: Diagnosis, request: ExplainRequest) -> Patch | None:
    """Write the found conventions; None, and no file, where there are none. UnusableInput where the contract cannot say them."""
    found = {knob: value for cause in diagnosis.causes if not cause.breaks for knob, value in cause.changes.items()}
    files = request.contract
    if not found or files.bundle is None:
        return None
    contract = files.opened()
    changes = {**{knob: contract.conventions[knob] for knob in files.changes}, **found}
    content, opened = _content(path, files, contract, changes)
    write_bytes(path, content)
    use = f"--contract {path}" if opened.bundle == path else f"--conventions {path}"
    words = f"{use}, or {' '.join(f'--set {knob}={shown_value(value)}' for knob, value in found.items())}"
    proof, _ = explain(replace(request, contract=opened, millions=0.0, says=ExplainRequest.says))
    return Patch(opened, words, proof)


def write_answers(diagnosis: Diagnosis, request: ExplainRequest) -> str | None:
    """Write the answered words into the contract itself; what was written, in words, or None where nothing is to be written."""
    path = request.contract.bundle
    answers = {knob: values[0] for knob, values in diagnosis.answered.items() if len(values) == 1}
    if not answers or path is None:
        return None
    document = read_document(str(path))
    knobs = request.contract.opened().system.knobs
    content = with_answered_words(document.file.content, knobs, answers)
    if content is None:
        raise UnusableInput(path, "values of no stage", "your own contract", "--patch FILE writes them beside it")
    with inputs_may_be_replaced():
        write_bytes(Path(path), content)
    return f"{path} now says: {answered_text({knob: (value,) for knob, value in answers.items()})}"


def _content(
    path: Path, files: ContractFiles, contract: Contract, changes: Mapping[str, Any]
) -> tuple[bytes, ContractFiles]:
    """What to write, and what opens the changed contract."""
    document = read_document(str(files.bundle))
    if document.kind is Kind.BUNDLE:
        return _conventions(changes), ContractFiles(files.bundle, files.companion, (), path)
    if document.kind is Kind.SYSTEM_CONTRACT:
        own = {**document.data.get("conventions", {}), **{knob: _plain(value) for knob, value in changes.items()}}
        return contract_to_bytes({**document.data, "conventions": own}), ContractFiles(path)
    if path.resolve().parent != document.path.resolve().parent and b"file" in document.file.content:
        raise UnusableInput(
            "--patch", str(path), f"a file in {document.path.parent}", "the contract names files beside it"
        )
    changed = with_changed_words(document.file.content, contract.system.knobs, changes)
    if changed is None:
        return _conventions(changes), ContractFiles(files.bundle, files.companion, (), path)
    return changed, ContractFiles(path)


def _conventions(changes: Mapping[str, Any]) -> bytes:
    lines = (f'"{knob}" = "{shown_value(value)}"' for knob, value in changes.items())
    return ("\n".join(("[conventions]", *lines)) + "\n").encode("utf-8")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
