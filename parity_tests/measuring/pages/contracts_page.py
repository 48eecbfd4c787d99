"""docs/contracts.md: a section for each contract that ships, from the contract itself and its recording."""

import itertools
from pathlib import Path
from typing import Any

from rigpact.contract.contract_files import open_contract
from rigpact.contract.conventions import Knob
from rigpact.reference_runtime.files.declared import files_of

CONTRACTS = Path(__file__).resolve().parents[3] / "fixtures" / "contracts"


_HEAD = """# Contracts that ship

Each file under `fixtures/contracts` declares somebody's runtime in at most 120 lines, to try and to copy from. For each there is
a second runtime in plain numpy, written from the description of the published one; a small recording of it lies beside the
contract. Its inputs and networks are drawn. `show` prints the stages, their fields, the networks, and each
convention: the first value is the contract's, `explain` searches the others.

This page is generated; `python -m parity_tests.measuring.pages.generated_docs` writes it.
"""


def contracts_page() -> str:
    """docs/contracts.md."""
    return _HEAD + "".join(map(_section, sorted(CONTRACTS.glob("*.toml"))))


def _section(path: Path) -> str:
    contract: Any = open_contract(path)
    system, text = contract.system, path.read_text(encoding="utf-8")
    place = f"fixtures/contracts/{path.name}"
    knob, value = _another_reading(contract)
    recording = f"fixtures/contracts/recordings/{path.stem}.safetensors"
    parts = [
        f"\n## {path.stem}", f"**{system.title}.**", *_introduction(text), "",
        f"[{path.name}](../{place}), {text.count(chr(10))} lines; [a recording](../{recording}) of 24 frames of",
        f"{', '.join(f'`{name}`' for name in _recorded(contract, path))}.", "",
        "```console",
        f"$ rigpact show {place}",
        f"$ rigpact check {place} {recording}",
        f"$ rigpact explain {recording} --contract {place}{_unjudged(contract, path)}",
        f"$ rigpact explain {recording} --contract {place} --set {knob.name}={value}",
        "```", "",
        *_about_unjudged(contract, path),
        f"With `--set` the contract reads `{knob.name}` as `{value}`; the recorded runtime does not. The answer says so.", "",
    ]  # fmt: skip
    return "\n".join(parts)


def _introduction(text: str) -> list[str]:
    """The comment between the head of the file and its first vector."""
    head = itertools.takewhile(lambda line: not line.startswith("given"), text.splitlines())
    return [line.removeprefix("# ") for line in head if line.startswith("# ")]


def _recorded(contract: Any, path: Path) -> list[str]:
    recording = path.parent / "recordings" / f"{path.stem}.safetensors"
    return list(files_of(contract).recording(recording, contract).trace.stages)


def _unjudged(contract: Any, path: Path) -> str:
    """The options that let the answers of networks stay unjudged: their models are not there."""
    answers = [name for name in _recorded(contract, path) if name in contract.system.graph.answers]
    return "".join(f" --allow-unjudged {name}" for name in answers)


def _about_unjudged(contract: Any, path: Path) -> list[str]:
    if not _unjudged(contract, path):
        return []
    why = "The models of its networks are not there, so nothing judges what they answered:"
    words = f"{why} `--allow-unjudged` says that you know it."
    return [words, "Without it the answer is `UNDETERMINED`.", ""]


def _another_reading(contract: Any) -> tuple[Knob, Any]:
    """A knob of a stage that the recording shows: of the last stage that has one, with its second reading."""
    knob = [knob for stage in contract.system.stages for knob in stage.knobs][-1]
    return knob, knob.values[1]
