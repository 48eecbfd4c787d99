"""`rigpact stamp`: write a contract's hash into a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rigpact.reports.command_line.options import ContractArgument, Format, Out, OutputFormat, argument
from rigpact.reports.command_line.written import answer_written


def stamp(
    contract: ContractArgument,
    model: Annotated[Path, argument("MODEL", "The ONNX model that belongs to the contract.")],
    *,
    out: Out,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Write the hash of a contract into a model.

    `rigpact check` then refuses the model with another contract. The hash covers the contract and the files that its
    numbers and operations come from. The model's numbers stay as they are. Exit status 0; 2 for a file that cannot be read
    or written.
    """
    from rigpact.contract.contract_files import open_contract
    from rigpact.contract.documents import Kind, read_document
    from rigpact.contract.errors import UnusableInput
    from rigpact.contract.model.stamp import write_stamped

    read = open_contract(contract)
    document = read_document(contract)
    if document.kind is Kind.DECLARATION:
        from rigpact.contract.declared.reading import declaration_of

        own = model.resolve()
        if any((document.path.parent / name).resolve() == own for name in declaration_of(document).read):
            found = f"numbers that come from {model.name} itself"
            hint = "the hash would change with the stamp: write the numbers into the contract"
            raise UnusableInput(contract, found, "numbers from other files", hint)
    write_stamped(model, read.sha256, out)
    lines = [f"{out}: belongs to {contract.name}, {read.sha256[:12]}"]
    facts = {"contract": str(contract), "contract_sha256": read.sha256}
    answer_written("stamp", [out], output_format, lines=lines, facts=facts)
