"""Fields of a vector by their names, as operations take them, and the frame that two of them are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from rigpact.contract.declared.operation import Input, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong, unknown
from rigpact.contract.json_pointer import Token
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import Field, FieldKind
from rigpact.reference_runtime.operations.definitions.quaternions import unit_or_identity


@dataclass(frozen=True)
class FrameFields:
    """A frame that a pose holds: its name, the field of its origin and that of its rotation."""

    name: str
    origin: Field
    turn: Field

    @property
    def whose(self) -> str:
        """Its name in the possessive."""
        return f"{self.name}'" if self.name.endswith("s") else f"{self.name}'s"

    def of(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Origins (N, 3) and unit quaternions xyzw (N, 4) of poses (N, width)."""
        return rows[:, self.origin.range], unit_or_identity(rows[:, self.turn.range])


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


def frame_of(use: Use, source: Input) -> FrameFields:
    """The parameter `frame`: a field of an origin and one of a quaternion xyzw."""
    words = use.word_list("frame")
    if len(words) != 2:
        raise use.wrong(Wrong.WIDTH, "frame", f"{len(words)} names", "2: an origin and a quaternion")
    (origin,), (turn,) = (
        found_fields(use, source, ("frame",), [word], size) for word, size in zip(words, (3, 4), strict=True)
    )
    if turn.kind is not FieldKind.QUATERNION_XYZW:
        raise use.wrong(Wrong.KIND, "frame", f"{turn.name}, {turn.kind.value}", FieldKind.QUATERNION_XYZW.value)
    return FrameFields(called(words, "frame"), origin, turn)


def called(names: Sequence[str], otherwise: str) -> str:
    """What several fields are called together: `thigh` for thigh_r_pos and thigh_l_pos."""
    words = zip(*(name.replace(".", "_").split("_") for name in names), strict=False)
    return "_".join(each[0] for each in takewhile(lambda each: len(set(each)) == 1, words)) or otherwise


def channels_of(fields: Iterable[Field]) -> list[int]:
    """The numbers of fields, in their order."""
    return [channel for each in fields for channel in range(each.start, each.stop)]


def whole_quaternions(use: Use, source: Input) -> int:
    """How many quaternions a vector holds, four numbers each."""
    count, rest = divmod(source.fields.width, 4)
    if rest:
        raise Misdeclared(
            Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", "quaternions, 4 each"
        )
    return count


def reordered(rows: FloatArray, starts: Iterable[int], order: Sequence[int]) -> FloatArray:
    """Rows in which the numbers from each start are put in an order."""
    result = rows.copy()
    for start in starts:
        result[:, start : start + len(order)] = rows[:, start : start + len(order)][:, order]
    return result
