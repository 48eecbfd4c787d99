"""`rigpact show`: a contract, and everything that rigpact knows by a name."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line import options
from rigpact.reports.command_line.options import known_words

if TYPE_CHECKING:
    from rigpact.contract.systems.system import Section
    from rigpact.reference_runtime.files.declared import ContractFiles
    from rigpact.reports.describing.shown import Shown


class ShownFormat(StrEnum):
    """How it is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


_NAME = (
    "A contract's file, a rule (RP104), a system (neurarig), an operation (affine) or a profile, `schema gate`, "
    "`page neurarig`, `recorder`."
)
_WRITE_CONTRACT = "Of a system: write a contract with the published constants."
_WRITE = "Of `schema`: write the schemas that an editor needs into FOLDER."


def show(
    name: Annotated[list[str] | None, options.argument("[NAME]", _NAME, autocompletion=known_words)] = None,
    *,
    companion: options.Companion = None,
    onnx: options.Model = None,
    beside: Annotated[
        Path | None, options.option("--beside", "OTHER", "Of a contract: only the differences to this one.")
    ] = None,
    write_contract: Annotated[Path | None, options.option("--write-contract", "FILE", _WRITE_CONTRACT)] = None,
    write: Annotated[Path | None, options.option("--write", "FOLDER", _WRITE)] = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    output_format: Annotated[
        ShownFormat, typer.Option("--format", help="Text for people, JSON for machines.")
    ] = ShownFormat.TEXT,
) -> None:
    """Show a contract, a rule, an operation, a schema, how to record.

    Without NAME it lists what can be shown. Exit status 0; 2 for a word that names nothing, and for a contract that the
    engine refuses.
    """
    from rigpact.reports.describing.shown import Shown, shown

    words = name or []
    path = Path(words[0]) if len(words) == 1 and Path(words[0]).is_file() else None
    found = Shown("a contract", []) if path is not None else shown(words)
    asked: dict[str, object] = {"--companion": companion, "--onnx": onnx, "--beside": beside}
    asked |= {"--set": settings, "--conventions": conventions}
    of_kinds: dict[str, dict[str, object]] = {"a contract": asked, "a system": {"--write-contract": write_contract}}
    for kind, given in (of_kinds | {"the schemas": {"--write": write}}).items():
        if found.kind != kind:
            said = f"{' '.join(words)}, {found.kind}" if words else "no NAME"
            options.refuse_beside(given, said, f"{kind} as NAME")
    if path is not None:
        files = options.contract_files(path, companion, settings, conventions)
        found = Shown(found.kind, _contract_sections(files, path, onnx, beside))
    if write_contract is not None:
        from rigpact.contract.files import write_bytes
        from rigpact.contract.pages.registry import find_system
        from rigpact.reports.describing.system_description import contract_template

        write_bytes(write_contract, contract_template(find_system(words[0])))
    if write is not None:
        from rigpact.reports.describing.answer_schemas import write_schemas
        from rigpact.reports.terminal import say

        for each in write_schemas(write):
            say(f"{each} written")
        return
    _print(found, output_format)


def _contract_sections(files: ContractFiles, path: Path, onnx: Path | None, beside: Path | None) -> list[Section]:
    from rigpact.contract.documents import read_document
    from rigpact.contract.model.signature import read_model
    from rigpact.reports.describing.description import beside_section, describe_contract

    read = files.opened()
    if beside is not None:
        return [beside_section(read_document(path), read_document(beside))]
    return describe_contract(read, read_document(path).data, read_model(onnx) if onnx else None)


def _print(found: Shown, output_format: ShownFormat) -> None:
    from rigpact.reports.describing import description as described
    from rigpact.reports.terminal import print_json, stdout

    if output_format is ShownFormat.MARKDOWN:
        sys.stdout.write(described.description_markdown(found.sections))
    elif output_format is ShownFormat.JSON and found.kind != "a schema":
        print_json(described.description_to_json(found.sections))
    elif found.text:
        sys.stdout.write(found.text)
    else:
        described.print_description(found.sections, stdout())
