"""Fields of a vector by their names, as operations take them."""

from collections.abc import Iterable, Sequence

from rigpact.contract.declared.operation import Input, Use
from rigpact.contract.errors import Misdeclared, Wrong, unknown
from rigpact.contract.json_pointer import Token
from rigpact.contract.systems.layout import Field


def fields_named(use: Use, source: Input, key: str, size: int = 3) -> list[Field]:
    """The fields that a parameter names, of `size` numbers each."""
    return found_fields(use, source, (key,), use.word_list(key), size)


def found_fields(use: Use, source: Input, place: tuple[Token, ...], names: Sequence[str], size: int = 0) -> list[Field]:
    """The fields of these names; of `size` numbers each, where it is not 0."""
    for index, name in enumerate(names):
        where = use.at(*place, index)
        if name not in source.fields:
            raise unknown(where, name, [each.name for each in source.fields], f"a field of {source.name}")
        if size and source.fields[name].size != size:
            raise Misdeclared(Wrong.WIDTH, where, f"{name}, {source.fields[name].size} numbers", f"a field of {size}")
    return [source.fields[name] for name in names]


def channels_of(fields: Iterable[Field]) -> list[int]:
    """The numbers of fields, in their order."""
    return [channel for each in fields for channel in range(each.start, each.stop)]


def whole_count(use: Use, source: Input, size: int, expected: str) -> int:
    """How many vectors of `size` numbers each a vector holds."""
    count, rest = divmod(source.fields.width, size)
    if rest:
        raise use.wrong(Wrong.WIDTH, "of", f"{source.name}, {source.fields.width} numbers", expected)
    return count
