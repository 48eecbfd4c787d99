"""Whether a file of numbers is a recording of a contract: else its refusal shows nothing that stands in it."""

import re
from pathlib import Path

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import is_file, opened
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.tables import is_binary, read_table

_LOOKED_AT = 1 << 20
"""Bytes in which a recording names a vector: a header, or the first frame."""
_LINE_OF = re.compile(r"(:\d+)?")


def recognised_table(path: Path, contract: Contract) -> Table:
    """The table of a file. The refusal of a file that names no vector of the contract shows nothing that stands in it."""
    try:
        return read_table(path)
    except UnusableInput as error:
        if is_binary(path) or not is_file(path) or _names_a_vector(path, contract):
            raise
        place = error.place if _LINE_OF.fullmatch(error.place.removeprefix(str(path))) else path
        raise UnusableInput(place, "no table of numbers, and no vector of the contract", "a recording") from None


def _names_a_vector(path: Path, contract: Contract) -> bool:
    """Whether the start of a file holds a vector's name, with no letter beside it: a vector may be called `x`."""
    said = [name for source in contract.system.recordings.values() for name in np.atleast_1d(source)]
    known = [name for names in contract.system.published.values() for name in names]
    words = "|".join(re.escape(str(name)) for name in (*contract.system.graph.names, *said, *known))
    with opened(path) as stream:
        start = stream.read(_LOOKED_AT).replace(b"\0", b"")
    return re.search(rf"(?<![^\W\d_])(?:{words})(?![^\W\d_])".encode(), start) is not None
