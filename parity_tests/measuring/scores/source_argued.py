"""Mutants that no test can notice, and why they are no defects."""

from __future__ import annotations

from collections.abc import Mapping

_OPERATIONS = "reference_runtime/rigpact/reference_runtime/operations"
_CHARACTER = "reference_runtime/rigpact/reference_runtime/vocabulary/character"
_POSING = "reference_runtime/rigpact/reference_runtime/vocabulary/posing"
_GRAPH = "reference_runtime/rigpact/reference_runtime/graph"
_RECORDINGS = "reference_runtime/rigpact/reference_runtime/recordings"
_FILES = "contract/rigpact/contract/files"
_COMPARING = "reports/rigpact/reports/comparing"
_ROTATIONS = f"{_OPERATIONS}/rotation_bounds.py"
_JSON_LINES = f"{_RECORDINGS}/trace_lines.py"
_JSON_TEXT = f"{_FILES}/json_text.py"
_EITHER_ORDER = "both ends are computed, in either order"
_GUARDED_TOO = "an axis that counts as not clearly long is only looked at more closely, with the same bound"
_LOOKED_AT_AGAIN = (
    "where keys were counted too low the text is looked at again, and more keys than it has are never counted"
)
_THE_LIMIT = "below about 1e-8 the quotient is its limit 2, to the last bit"
_ONE_SIGN = "the sign is 1 or -1"
_SAME_FLOOR = "a variance of 1e-6 is a deviation of 1e-3: one of the two floors, which the engine has, is enough"
_A_SIGN = "divided by 1 and -1 is multiplied by them"
_NO_LENGTH = "no length is below 0, so a lower limit below 0 limits as little"
_BELOW_ALL = "the mark for none is not an error and no row whatever negative number it is"
_BOTH_THERE = "at this length the two formulas give the same bits"
_PLENTY = "where ten thousand different numbers tell, one that is counted twice changes nothing"
_NEVER_EQUAL = (
    "a wrong count equals the other one only where there is nothing to count, and unequal counts are looked at slowly"
)
_DEPTH_AGAIN = "what counts as too deep is looked at again, level by level"
_COUNTED_AGAIN = "containers that the quick count misses are missed by their brackets too, and counted slowly"
_NO_FRAMES = "fewer numbers than none are none"
_ONE_OF_ONE = "the first of one is its last"
_PIECES = "how many bytes are read at once changes none of them"

ARGUED: Mapping[tuple[str, str, str], str] = {
    (f"{_POSING}/denormalised_output.py", "_undone", "`y_norm + sign * moved / std` → `y_norm - sign * moved / std`"):
        _EITHER_ORDER,
    (f"{_CHARACTER}/bounds.py", "between", "`middle + sign * moved` → `middle - sign * moved`"): _EITHER_ORDER,
    (_ROTATIONS, "gram_schmidt_bound", "`size_b * first` → `size_b / first`"): _GUARDED_TOO,
    (_ROTATIONS, "gram_schmidt_bound", "`size_a > _clearly_long(error_a)` → `size_a >= _clearly_long(error_a)`"): _GUARDED_TOO,
    (_ROTATIONS, "gram_schmidt_bound", "`rest > _clearly_long(error)` → `rest >= _clearly_long(error)`"): _GUARDED_TOO,
    (_ROTATIONS, "_guarded_bound", "`0` → `-1`"): _NO_LENGTH,
    (_ROTATIONS, "_clearly_long", "`np.sqrt(3.0) * error` → `np.sqrt(3.0) / error`"): _GUARDED_TOO,
    (_ROTATIONS, "_clearly_long", "`3.0` → `4.0`"): _GUARDED_TOO,
    (_JSON_LINES, "_keys", "`0` → `-1`"): _LOOKED_AT_AGAIN,
    **{
        (_JSON_LINES, "", f"`{size}` → `{other}`"): _PIECES
        for size in (1_048_576, 2048) for other in (size - 1, size + 1)
    },
    (f"{_COMPARING}/stage_comparison.py", "", "`1.0` → `2.0`"): _BELOW_ALL,
    (f"{_COMPARING}/stage_comparison.py", "_Extremes.__init__", "`1` → `2`"): _BELOW_ALL,
    (f"{_GRAPH}/bounds.py", "KnownFrames.__init__", "`0` → `-1`"): _NO_FRAMES,
    (f"{_OPERATIONS}/rot6d.py", "Rot6d.__init__", "`DERIVED_SIGN[conventions.derived_axis](parity) < 0.0` → "
     "`DERIVED_SIGN[conventions.derived_axis](parity) <= 0.0`"): _ONE_SIGN,
    (f"{_OPERATIONS}/gram_schmidt.py", "", "`0.0002` → `1.0002`"): _GUARDED_TOO,
    (f"{_CHARACTER}/condition.py", "", "`1e-06` → `-0.999999`"): _SAME_FLOOR,
    (f"{_CHARACTER}/condition.py", "", "`0.001` → `-0.999`"): _SAME_FLOOR,
    (
        f"{_OPERATIONS}/definitions/euler.py", "_smaller_sum",
        "`np.pi * np.where(angles < 0.0, -1.0, 1.0)` → `np.pi / np.where(angles < 0.0, -1.0, 1.0)`",
    ): _A_SIGN,
    (f"{_CHARACTER}/condition.py", "", "`_velocity(clip) * (1.0, -1.0)` → `_velocity(clip) / (1.0, -1.0)`"): _A_SIGN,
    (f"{_OPERATIONS}/definitions/quaternions.py", "conjugate", "`q * (-1.0, -1.0, -1.0, 1.0)` → `q / (-1.0, -1.0, -1.0, 1.0)`"):
        _A_SIGN,
    (f"{_OPERATIONS}/definitions/quaternions.py", "exponential", "`size < SHORTEST` → `size <= SHORTEST`"): _BOTH_THERE,
    (_JSON_TEXT, "_begins_with_a_number", "`0` → `-1`"): _COUNTED_AGAIN,
    (_JSON_TEXT, "_census", "`0` → `-1`"): _NEVER_EQUAL,
    (_JSON_TEXT, "_census", "`found + len(level)` → `found - len(level)`"): _NEVER_EQUAL,
    (_JSON_TEXT, "_census", "`not _begins_with_a_number(value)` → `_begins_with_a_number(value)`"): _NEVER_EQUAL,
    (_JSON_TEXT, "_marks", "`block ∣ 32 == ord('{')` → `block ∣ 32 != ord('{')`"): _NEVER_EQUAL,
    (_JSON_TEXT, "_marks", "`block ∣ 32` → `block & 32`"): _NEVER_EQUAL,
    (_JSON_TEXT, "_marks", "`32` → `33`"): _NEVER_EQUAL,
    (_JSON_TEXT, "_marks", "`32` → `31`"): _NEVER_EQUAL,
    (_JSON_TEXT, "_marks", "`1` → `0`"): _NEVER_EQUAL,
    (_JSON_TEXT, "_census", "`1` → `2`"): _DEPTH_AGAIN,
    (_JSON_TEXT, "bytes_to_json", "`census.depth > MAX_JSON_DEPTH` → `census.depth >= MAX_JSON_DEPTH`"): _DEPTH_AGAIN,
    **{(f"{_RECORDINGS}/precision.py", "", f"`10000` → `{size}`"): _PLENTY for size in (9_999, 10_001)},
    (
        f"{_RECORDINGS}/precision.py", "PrecisionCensus._fresh",
        "`len(self._seen) < _PLENTY` → `len(self._seen) <= _PLENTY`",
    ): _PLENTY,
    **{(_JSON_TEXT, "", f"`131072` → `{size}`"): _PIECES for size in (131_071, 131_073)},
    (_JSON_TEXT, "_begins_with_a_number", "`type(value[0]) in (float, int)` → `type(value[0]) not in (float, int)`"):
        _COUNTED_AGAIN,
    (f"{_RECORDINGS}/named_columns.py", "_in_rows", "`0` → `-1`"): _ONE_OF_ONE,
    (f"{_OPERATIONS}/geometry.py", "quat_to_vector", "`size < np.finfo(quat.dtype).tiny` → `size <= np.finfo(quat.dtype).tiny`"):
        _THE_LIMIT,
    (_JSON_LINES, "_keys", "`len(entry) + sum(map(_keys, entry.values()))` → `len(entry) - sum(map(_keys, entry.values()))`"):
        _LOOKED_AT_AGAIN,
}  # fmt: skip
"""Module, function and change of mutants that compute the same, and why no test can tell them apart."""
