"""The forms in which functions hold a rotation: quaternions in both orders, six numbers in every packing, Euler angles, vectors.

A function's Euler order is declared by the user, by its own `order` argument, or by its name (`euler_xyz_from_quat`). A name says
neither whether the axes move along nor in which place an angle stands. So a name accepts every reading with these axes in
this order or in the reverse one. A declared order is exact: "ZYX" about the moving axes, "zyx" about the fixed ones.
Without any of the three, the order is measured and said, and nothing is judged.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.findings import Rule
from rigpact.contract.rules.family import geometry as rules
from rigpact.contract.skeleton import COLUMN_PAIRS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import (
    EULER,
    FROM_XYZW,
    TO_XYZW,
    exp_map,
    matrix_to_quat,
    to_matrix,
    transposed,
)
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reports.geometry_parity.roles import MATCH, ROWS, Kind, Role, decoded, encoded

Compute = Callable[..., FloatArray]
Named = tuple[Rule, Mapping[str, Any]]
DEGREES = 180.0 / np.pi


ORDERS = tuple("".join(each) for each in permutations("xyz"))


@dataclass(frozen=True)
class Turns:
    """R = R_i · R_j · R_k: the axes in this order, and the place of each one's angle among the three given ones."""

    axes: str
    places: tuple[int, ...]
    inverse: bool = False

    @property
    def words(self) -> str:
        """The formula."""
        named = " · ".join(f"R{axis}({'abc'[place]})" for axis, place in zip(self.axes, self.places, strict=True))
        return f"R = ({named})ᵀ" if self.inverse else f"R = {named}"


@dataclass(frozen=True)
class EulerOrder:
    """What is known of a function's order. exact: declared, so the case of the letters counts; source: who says so."""

    letters: str | None = None
    exact: bool = False
    source: str = ""
    in_degrees: bool = False

    @property
    def turns(self) -> list[Turns]:
        """All that it may mean: capitals turn about the moving axes, small letters about the fixed ones; a name either."""
        letters = self.letters or ""
        if self.exact:
            is_moving = letters.isupper()
            return [Turns(letters.lower(), (0, 1, 2)) if is_moving else Turns(letters[::-1], (2, 1, 0))]
        both = (letters.lower(), letters[::-1].lower()) if letters else ()
        places = {axes: ((0, 1, 2), (2, 1, 0), tuple(map("xyz".index, axes))) for axes in both}
        return [Turns(axes, each) for axes, several in places.items() for each in several]


@dataclass(frozen=True)
class ValueForm:
    """One way to hold a value. words: which; decode: to what is computed with, a rotation matrix; encode: back.

    findings: of a form that is not the declared one. identity: the six numbers of no rotation.
    """

    words: str = ""
    decode: Compute = np.asarray
    encode: Compute = np.asarray
    findings: Sequence[Named] = ()
    identity: FloatArray | float = 0.0


def unless_declared(rule: Rule, found: str, declared: str) -> list[Named]:
    """The finding that another convention than the declared one was found; none where it is that one."""
    return [] if found == declared else [(rule, {"found": found, "declared": declared})]


def own_first(own: str, every: Iterable[str]) -> list[str]:
    """The declared name, then every other one."""
    return list(dict.fromkeys((own, *every)))


def inverse(verb: str, evidence: str) -> list[Named]:
    """The finding that a rotation is turned round."""
    return [(rules.INVERSE, {"verb": verb, "evidence": evidence})]


def forms_of(kind: Kind, role: Role, declared: Conventions, said: EulerOrder) -> Iterator[ValueForm]:
    """Every form of a kind of value, the nearest to the declared one first; of most kinds there is one."""
    verb = "returns" if role.gives == kind else "takes"
    if kind == "quat":
        own = str(declared.quaternion_order)
        for order in own_first(own, ("xyzw", "wxyz")):
            yield _quaternion(order, unless_declared(rules.QUATERNION_ORDER, order, own))
    elif kind == "six":
        packings = own_first(declared.rot6d_packing, ("columns", "interleaved"))
        pairs = own_first(declared.rot6d_columns, COLUMN_PAIRS)
        # the inverse's six numbers compose like the other order of a product, which is listed
        inverses = (False,) if "residual" in role.takes else (False, True)
        mirrors = (False, True) if role.takes == ("six",) and role.gives == "matrix" else (False,)
        for is_mirrored, packing, is_inverse, pair in product(mirrors, packings, inverses, pairs):
            changed = declared.replaced({"rot6d_packing": packing, "rot6d_columns": pair})
            yield _six(changed, declared, is_inverse=is_inverse, is_mirrored=is_mirrored)
    elif kind == "euler":
        each = [*said.turns, *(Turns(*order) for order in product(ORDERS, permutations(range(3))))]
        every = dict.fromkeys([*each, *(replace(turns, inverse=True) for turns in each)])
        for turns, scale in product(every, (DEGREES, 1.0) if said.in_degrees else (1.0, DEGREES)):
            yield _euler(turns, scale, said, verb)
    elif kind == "vector" and verb == "takes":
        for ratio in (sign * size for size in (1.0, 0.5, 2.0, DEGREES, 1.0 / DEGREES) for sign in (1.0, -1.0)):
            yield _vector(ratio)
    else:
        yield ValueForm()


def _quaternion(order: str, findings: Sequence[Named]) -> ValueForm:
    return ValueForm(
        order,
        lambda quat: to_matrix(quat[..., TO_XYZW[order]]),
        lambda matrix: matrix_to_quat(matrix)[..., FROM_XYZW[order]],
        findings,
    )


def _six(conventions: Conventions, declared: Conventions, *, is_inverse: bool, is_mirrored: bool) -> ValueForm:
    codec, own = Rot6d(conventions), _axes_words(declared)
    found = _axes_words(conventions, is_inverse=is_inverse)
    rule = rules.TRANSPOSED if found.startswith("rows") else rules.OTHER_COLUMNS
    turned: Compute = transposed if is_inverse else np.asarray
    findings = unless_declared(rule, found, own)
    if is_mirrored:
        findings.append((rules.MIRRORED, {"found": f"minus the third of {found}"}))

    def decode(six: FloatArray) -> FloatArray:
        matrix = decoded(six, codec)
        if is_mirrored:
            axes = transposed(matrix) if codec.are_rows else matrix
            axes[..., codec.derived] *= -1.0
        return turned(matrix)

    words = f"{found}, mirrored" if is_mirrored else found
    return ValueForm(words, decode, lambda matrix: encoded(turned(matrix), codec), findings, codec.identity(1))


def _axes_words(conventions: Conventions, *, is_inverse: bool = False) -> str:
    """The two axes that six numbers hold, in words; those of the inverse, if it is transposed."""
    packing = conventions.rot6d_packing
    names = "xy" if packing == "rows" else conventions.rot6d_columns
    lines = "rows" if (packing == "rows") != is_inverse else "columns"
    return f"{lines} {names[0].upper()} and {names[1].upper()}{', interleaved' * (packing == 'interleaved')}"


def _euler(turns: Turns, scale: float, said: EulerOrder, verb: str) -> ValueForm:
    to_rotation, to_angles = EULER[f"{turns.axes.upper()}_rad"]
    turned: Compute = transposed if turns.inverse else np.asarray
    findings: list[Named] = []
    if scale != 1.0 and not said.in_degrees:
        findings.append((rules.SCALED, {"verb": verb, "words": "degrees", "ratio": scale, "rows": ROWS}))
    if said.letters is None:
        findings.append((rules.ORDER_NOT_DECLARED, {"found": turns.words}))
    elif turns.inverse and replace(turns, inverse=False) in said.turns:
        findings += inverse(verb, f"it computes {turns.words}")
    elif turns not in said.turns:
        values = {"found": turns.words, "declared": said.letters, "source": said.source}
        findings.append((rules.EULER_ORDER, values))
    return ValueForm(
        f"{turns.words} of (a, b, c){' in degrees' * (scale != 1.0)}",
        lambda angles: turned(to_rotation(angles[..., turns.places] / scale)),
        lambda matrix: scale * to_angles(turned(matrix))[..., np.argsort(turns.places)],
        findings,
    )


def _vector(ratio: float) -> ValueForm:
    words = "exp(v)" if ratio == 1.0 else f"exp({ratio:.4g} · v)"
    return ValueForm(words, lambda v: exp_map(ratio * v), findings=ratio_findings(ratio, ROWS, "takes"))


_WORDS: Mapping[float, str] = {
    2.0: "twice the angle", 1.0 / np.pi: "the angle over π", DEGREES / 2.0: "half the angle in degrees",
}  # fmt: skip


def ratio_findings(ratio: float, rows: int, verb: str) -> list[Named]:
    """The findings for a ratio; none for 1."""
    size = abs(ratio)
    values = {"verb": verb, "ratio": size, "rows": rows}
    findings = inverse(verb, f"measured ratio {ratio:.4f} over {rows} rotations") if ratio < 0.0 else []
    if abs(size - 0.5) <= 0.5 * MATCH:
        findings.append((rules.HALF_ANGLE, values))
    elif abs(size - 1.0) > MATCH:
        unit = 1.0 / DEGREES if verb == "takes" else DEGREES  # what takes degrees scales them down
        known = {unit: "degrees", 1.0 / unit: "the angle times π/180", **_WORDS}
        words = (words for each, words in known.items() if abs(size / each - 1.0) <= MATCH)
        findings.append((rules.SCALED, {**values, "words": next(words, "a multiple of the angle")}))
    return findings
