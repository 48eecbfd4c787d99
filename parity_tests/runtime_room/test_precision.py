"""How finely numbers are written, format by format: half a unit of the last digit or bit, and how many numbers tell."""

import numpy as np

from rigpact.reference_runtime.recordings.precision import Precision, PrecisionCensus, precision_of, words_to_precision

from ..every_case import every_case
from .trace_files import refused

ULP = 2.0**-24
"""Half a unit in the last place of a float32."""
TWO = Precision(decimals=2)
HUNDREDTHS = [number / 100 for number in range(101, 1000) if number % 10]


def told_by(numbers, of_text=True):
    census = PrecisionCensus()
    if of_text:
        census.add_text(numbers)
    else:
        census.add(np.array(numbers, np.float32))
    return census.precision


@every_case("digits", range(11))
def test_the_words_of_a_resolution_are_the_formats_that_recorders_print(digits):
    """`--resolution "1 decimals"` would wave through a character that is a decimetre off."""
    for words, known, precision in (
        (f"{digits} decimals", range(2, 10), Precision(decimals=digits)),
        (f"{digits} digits", range(3, 9), Precision(significant=digits)),
    ):
        if digits in known:
            assert (words_to_precision(words), str(precision)) == (precision, words)
            assert precision.is_coarse is (digits < 6)
        else:
            assert refused(words_to_precision, words)


@every_case(("name", "step", "smallest"), [("float16", 2.0**-10, 2.0**-25), ("bfloat16", 2.0**-7, 0.0)])
def test_the_step_of_a_short_float_is_that_of_its_bits(name, step, smallest):
    """A float16 keeps ten bits after the first, a bfloat16 seven: from 1 to 2 one step, from 2 to 4 twice that, below 1 half."""
    precision, tiny = words_to_precision(name), 2.0**-20
    assert (str(precision), precision.is_coarse) == (name, True)
    expected = [step / 2, step / 2, step, step / 4, smallest, max(smallest, 0.5 * step * tiny)]
    assert precision.error(np.array([1.0, -1.5, 2.0, 0.75, 0.0, tiny])).tolist() == expected


def test_the_error_of_digits_is_half_of_the_last_and_what_reading_rounds():
    """Too much lets a defect through, too little blames the recorder."""
    size = np.array([3.0, -250.0, 0.04, 0.0])
    lost = ULP * np.abs(size)
    np.testing.assert_allclose(Precision(decimals=4).error(size), 0.5e-4 + lost, rtol=1e-12)
    expected = lost + np.array([0.5e-4, 0.5e-2, 0.5e-6, 0.0])
    np.testing.assert_allclose(Precision(significant=5).error(size), expected, rtol=1e-9)


SMALL = [number / 1e4 for number in range(11, 46) if number % 10]
ROOM = 1e-12 * (1.0 + 1e-6)
"""What a number of a text may be off, relative to itself or to 1."""
ONES, TENS = HUNDREDTHS[:20], [10.0 + each for each in HUNDREDTHS[:20]]
MIDDLE = [count / 1e9 for count in range(11, 60) if count % 10]
"""Two decimals in the middle between two float32: 0.9999995 of half a step off."""
NEAREST = np.float32(1.01)
SECOND = np.nextafter(NEAREST, np.float32(2.0 if float(NEAREST) < 1.01 else 0.0))
SIX = [number / 1e6 for number in range(100_001, 100_036) if number % 10]
LARGE = [300.0 + number / 1e3 for number in range(1, 9)] + [301.0 + number / 1e2 for number in range(20)]
THREE = [number / 100 for number in range(101, 133)] + [number / 10 for number in range(101, 145) if number % 10]
BELOW_ONE = [number / 100 for number in range(11, 44) if number % 10]


def whole(first):
    return [number for number in range(first, first + 50) if number % 10]


TEXT, FLOATS, BOTH = (True,), (False,), (True, False)
TOLD = [
    # thirty-two different numbers tell; a constant channel says a thousand times the same
    *(([*HUNDREDTHS[:count]] * 3 + [-each for each in HUNDREDTHS[:count]] + [0.0, 0.0, np.nan, np.inf], BOTH, told)
      for count, told in ((31, None), (32, TWO))),
    (SMALL, BOTH, Precision(decimals=4)), (SMALL[1:], BOTH, None), ([number / 10 for number in range(11, 100)], TEXT, None),
    # half of the numbers must use the last digit
    *(([0.0, *HUNDREDTHS[:40], *(number / 10 for number in range(11, 11 + count))], TEXT, told) for count, told in ((40, TWO),
    (41, None))),
    # a number of a text may be off as much as a float64 loses
    *(([*ONES, *TENS, number],
    TEXT, TWO) for number in (3.51 + 0.5e-12, 0.51 - 0.5e-12, 5000.51 + 4e-9, 0.3 - 0.2 - 0.1, ROOM, 123456.78)),
    *(([*ONES, *TENS, number], TEXT, None) for number in (0.51 + 1.5e-12, 5000.51 + 6e-9, np.nextafter(ROOM, 1.0),
    123456.78 + 1.5e-7)),
    # of two formats that fit the one whose last digit is used more is meant
    (BELOW_ONE + HUNDREDTHS[:40], TEXT, TWO), (HUNDREDTHS[:40] + BELOW_ONE, TEXT, TWO), (THREE, TEXT, Precision(significant=3)),
    (SIX + LARGE, FLOATS, Precision(decimals=6)),
    # whoever computes in float32 is off by one bit here and there; beyond 2**22 it has only halves
    ([*HUNDREDTHS[1:40], NEAREST], FLOATS, TWO), ([*HUNDREDTHS[1:40], SECOND], FLOATS, None),
    *(([*MIDDLE, number], FLOATS, Precision(decimals=9)) for number in (9234956e-9, 8343169e-9)),
    *((whole(first), FLOATS, told) for first, told in (
        (2_100_001, Precision(significant=7)), (4_200_001, None), (1_100_001, Precision(significant=7)))),
]  # fmt: skip


@every_case(
    ("numbers", "of_text", "expected"),
    [(row[0], of_text, row[2]) for row in TOLD for of_text in row[1]],
    ids=lambda each: str(each)[:40],
)
def test_a_format_is_told_where_enough_numbers_use_its_last_digit(numbers, of_text, expected):
    """Too few fit by chance; a tolerance for printing, given to numbers with all their bits, hides what they are compared for."""
    assert 2.0**-24 < abs(float(SECOND) - 1.01) < 2.0**-23
    assert told_by(numbers, of_text) == expected


ODD = np.resize(np.array(HUNDREDTHS, np.float32), (6000, 1))


def steps(count, step):
    """Numbers of 1 to 2 that end in so many bits."""
    return np.array([1.0 + number / count for number in range(1, count, step)], np.float32)[:, None]


@every_case(
    ("rows", "expected"),
    [
        (np.array([[200.0 + number / 1e4 for number in range(1, 400) if number % 10]], np.float32), Precision(decimals=4)),
        (np.array([[300.0 + number / 1e4 for number in range(1, 400) if number % 10]], np.float32), None),
        (steps(128, 2), Precision(bits=8)), (steps(1024, 8), Precision(bits=11)), (steps(256, 2), Precision(bits=11)),
        (ODD, TWO),
        (np.zeros((3, (1 << 20) + 1), np.float32), None),
    ],
    ids=lambda each: str(each)[:40],
)  # fmt: skip
def test_stages_tell_the_shortest_format_that_holds_them(rows, expected):
    """A bfloat16 is a float16 with three bits of zero; around 300, four decimals would be seen in any number."""
    assert precision_of({"x": rows}) == expected


@every_case(
    ("width", "row"), [(1, row) for row in (0, 1364, 4095, 4096, 5999)] + [(3, row) for row in (0, 1364, 1365, 5999)]
)
def test_one_number_with_all_its_bits_anywhere_says_that_every_bit_is_kept(width, row):
    """It may be the last of a long recording."""
    rows = np.resize(np.array(HUNDREDTHS, np.float32), (6000, width))
    odd = rows.copy()
    odd[row, -1] = np.pi
    assert (precision_of({"first": rows, "second": rows}), precision_of({"first": rows, "second": odd})) == (TWO, None)


def test_rows_are_added_up_and_a_constant_that_stands_in_every_line_tells_once():
    """Sixteen numbers of each of two lines are thirty-two; sixty frames of a contact score of 0.25 are not two decimals."""
    census = PrecisionCensus()
    for numbers, told, is_open in (
        (HUNDREDTHS[:16], None, True),
        (HUNDREDTHS[16:32], TWO, True),
        ([np.pi], None, False),
    ):
        census.add_text(numbers)
        assert (census.precision, census.is_open) == (told, is_open)
    for add in (PrecisionCensus.add_text, lambda census, each: census.add(np.array(each, np.float32))):
        census = PrecisionCensus()
        for _ in range(60):
            add(census, [0.25, 0.75])
            add(census, [0.25])
        assert (census.precision, census.is_open) == (None, True)
    assert precision_of({name: np.full((2_000, 1), 0.25, np.float32) for name in map(str, range(40))}) is None
