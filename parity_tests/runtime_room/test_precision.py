"""How finely numbers are written, format by format: half a unit of the last digit or bit, and how many numbers tell."""

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings import precision as recorded_precision
from rigpact.reference_runtime.recordings.precision import (
    Precision,
    PrecisionCensus,
    precision_of,
    words_to_precision,
)

from ..every_case import every_case

ULP = 2.0**-24
"""Half a unit in the last place of a float32."""


@every_case("digits", range(11))
def test_the_words_of_a_resolution_are_the_formats_that_recorders_print(digits):
    """`--resolution "1 decimals"` would wave through a character that is a decimetre off."""
    for words, known, precision in (
        (f"{digits} decimals", range(2, 10), Precision(decimals=digits)),
        (f"{digits} digits", range(3, 9), Precision(significant=digits)),
    ):
        if digits in known:
            assert words_to_precision(words) == precision
            assert str(precision) == words
            assert precision.is_coarse is (digits < 6)
        else:
            with pytest.raises(UnusableInput):
                words_to_precision(words)


@pytest.mark.parametrize(("name", "step"), [("float16", 2.0**-10), ("bfloat16", 2.0**-7)])
def test_the_step_of_a_short_float_is_that_of_its_bits(name, step):
    """A float16 keeps ten bits after the first, a bfloat16 seven."""
    precision = words_to_precision(name)
    assert str(precision) == name
    assert precision.is_coarse
    # from 1 to 2 one step, from 2 to 4 twice that, below 1 half of it
    np.testing.assert_array_equal(
        precision.error(np.array([1.0, -1.5, 2.0, 0.75])), np.array([1, 1, 2, 0.5]) * step / 2
    )
    smallest = 2.0**-25 if name == "float16" else 0.0
    assert precision.error(np.array([0.0])).tolist() == [smallest]
    tiny = 2.0**-20
    assert precision.error(np.array([tiny])).tolist() == [max(smallest, 0.5 * step * tiny)]


def test_the_error_of_digits_is_half_of_the_last_and_what_reading_rounds():
    """Too much lets a defect through, too little blames the recorder."""
    size = np.array([3.0, -250.0, 0.04, 0.0])
    lost = ULP * np.abs(size)
    np.testing.assert_allclose(Precision(decimals=4).error(size), 0.5e-4 + lost, rtol=1e-12)
    np.testing.assert_allclose(
        Precision(significant=5).error(size), lost + np.array([0.5e-4, 0.5e-2, 0.5e-6, 0.0]), rtol=1e-9
    )


HUNDREDTHS = [number / 100 for number in range(101, 1000) if number % 10]


@pytest.mark.parametrize("of_text", [True, False])
@pytest.mark.parametrize(("count", "is_told"), [(31, False), (32, True)])
def test_thirty_two_different_numbers_tell_a_format(of_text, count, is_told):
    """Fewer fit by chance; a constant channel says a thousand times the same."""
    census = PrecisionCensus()
    numbers = [*HUNDREDTHS[:count]] * 3 + [-number for number in HUNDREDTHS[:count]] + [0.0, 0.0, np.nan, np.inf]
    if of_text:
        census.add_text(numbers)
    else:
        census.add(np.array(numbers, np.float32))
    assert census.precision == (Precision(decimals=2) if is_told else None)


@pytest.mark.parametrize("of_text", [True, False])
def test_a_constant_that_stands_in_every_line_tells_once(of_text):
    """Sixty frames of a contact score of 0.25 are not a recording of two decimals: its tolerance would hide 0.253."""
    census = PrecisionCensus()
    for _ in range(60):
        for each in ([0.25, 0.75], [0.25]):
            if of_text:
                census.add_text(each)
            else:
                census.add(np.array(each, np.float32))
    assert census.is_open
    assert census.precision is None
    stages = {name: np.full((20_000, 1), 0.25, np.float32) for name in map(str, range(40))}
    assert precision_of(stages) is None


@pytest.mark.parametrize(("round_numbers", "is_told"), [(40, True), (41, False)])
def test_half_of_the_numbers_must_use_the_last_digit(round_numbers, is_told):
    """Nine of ten do at random: numbers that mostly end in 0 were written with one digit less, or with all."""
    census = PrecisionCensus()
    census.add_text([0.0, *HUNDREDTHS[:40], *(number / 10 for number in range(11, 11 + round_numbers))])
    assert census.precision == (Precision(decimals=2) if is_told else None)


def test_counts_of_several_rows_are_added_up():
    """A trace is read line by line: sixteen numbers of each of two lines are thirty-two."""
    census = PrecisionCensus()
    census.add_text(HUNDREDTHS[:16])
    assert census.precision is None
    census.add_text(HUNDREDTHS[16:32])
    assert census.precision == Precision(decimals=2)
    assert census.is_open
    census.add_text([np.pi])
    assert census.precision is None
    assert not census.is_open


def test_tenths_are_no_format_that_is_looked_for():
    """Two decimals of which the last is always 0 say nothing of two decimals."""
    census = PrecisionCensus()
    census.add_text([number / 10 for number in range(11, 100)])
    assert census.precision is None


@pytest.mark.parametrize(("middle", "is_told"), [(200.0, True), (300.0, False)])
def test_numbers_too_large_to_show_their_last_digit_do_not_tell(middle, is_told):
    """Around 300 a float32's steps are 3e-5: four decimals would be seen in any number."""
    rows = np.array([[middle + number / 1e4 for number in range(1, 400) if number % 10]], np.float32)
    assert precision_of({"x": rows}) == (Precision(decimals=4) if is_told else None)


def test_bits_that_are_all_zero_tell_the_shorter_format():
    """A bfloat16 is a float16 with three bits of zero, and must not be taken for one."""
    eight_bits = np.array([1.0 + number / 128 for number in range(1, 128, 2)], np.float32)
    assert precision_of({"x": eight_bits[:, None]}) == Precision(bits=8)
    eleven_bits = np.array([1.0 + number / 1024 for number in range(1, 1024, 8)], np.float32)
    assert precision_of({"x": eleven_bits[:, None]}) == Precision(bits=11)
    # the last two bits zero, the third one set: still one of the last three
    nine_bits = np.array([1.0 + number / 256 for number in range(1, 256, 2)], np.float32)
    assert precision_of({"x": nine_bits[:, None]}) == Precision(bits=11)


@every_case("width", [1, 3])
@every_case("row", [0, 1364, 1365, 4095, 4096, 5999])
def test_one_number_with_all_its_bits_anywhere_says_that_every_bit_is_kept(width, row):
    """A tolerance for printing, given to a recording that needs none, hides what it is compared for."""
    rows = np.resize(np.array(HUNDREDTHS, np.float32), (6000, width))
    assert precision_of({"first": rows, "second": rows}) == Precision(decimals=2)
    odd = rows.copy()
    odd[row, -1] = np.pi
    assert precision_of({"first": rows, "second": odd}) is None


def test_a_frame_of_more_numbers_than_are_looked_at_at_once_is_looked_at():
    """A million vertices a frame: one frame is still one piece."""
    assert precision_of({"x": np.zeros((3, (1 << 20) + 1), np.float32)}) is None


@pytest.mark.parametrize("small_first", [True, False])
def test_of_two_formats_that_fit_the_one_whose_last_digit_is_used_more_is_meant(small_first):
    """1.01 … 1.44 have two decimals and three digits; beside 0.11 … 0.43 only two decimals use their last digit everywhere."""
    small, large = [number / 100 for number in range(11, 44) if number % 10], HUNDREDTHS[:40]
    census = PrecisionCensus()
    census.add_text(small + large if small_first else large + small)
    assert census.precision == Precision(decimals=2)
    digits = PrecisionCensus()
    digits.add_text(
        [number / 100 for number in range(101, 133)] + [number / 10 for number in range(101, 145) if number % 10]
    )
    assert digits.precision == Precision(significant=3)


def told_by(numbers, of_text=True):
    census = PrecisionCensus()
    if of_text:
        census.add_text(numbers)
    else:
        census.add(np.array(numbers, np.float32))
    return census.precision


@pytest.mark.parametrize("of_text", [True, False])
def test_numbers_below_one_tell_as_much(of_text):
    """Rotations are seldom larger."""
    numbers = [number / 1e4 for number in range(11, 46) if number % 10]
    assert told_by(numbers, of_text) == Precision(decimals=4)
    assert told_by(numbers[1:], of_text) is None


ROOM = 1e-12 * (1.0 + 1e-6)
"""What a number of a text may be off, relative to itself or to 1."""


@every_case(
    ("number", "is_told"),
    [
        (3.51 + 0.5e-12, True), (0.51 + 1.5e-12, False), (0.51 - 0.5e-12, True), (5000.51 + 4e-9, True), (5000.51 + 6e-9, False),
        (0.3 - 0.2 - 0.1, True), (ROOM, True), (np.nextafter(ROOM, 1.0), False), (123456.78, True), (123456.78 + 1.5e-7, False),
    ],
)  # fmt: skip
def test_a_number_of_a_text_may_be_off_as_much_as_a_float64_loses(number, is_told):
    """Hundredths that were added up end in 0000004 and are hundredths; a number that is farther off kept its digits."""
    hundredths = [*HUNDREDTHS[:20], *(10.0 + each for each in HUNDREDTHS[:20])]
    assert told_by([*hundredths, number]) == (Precision(decimals=2) if is_told else None)


def test_the_nearest_float32_is_a_hundredth_and_the_second_nearest_is_not():
    """Whoever computes in float32 and prints every digit is off by one bit here and there, and must not be given a hundredth."""
    nearest = np.float32(1.01)
    second = np.nextafter(nearest, np.float32(2.0 if float(nearest) < 1.01 else 0.0))
    assert 2.0**-24 < abs(float(second) - 1.01) < 2.0**-23
    assert told_by([*HUNDREDTHS[1:40], nearest], of_text=False) == Precision(decimals=2)
    assert told_by([*HUNDREDTHS[1:40], second], of_text=False) is None


@pytest.mark.parametrize("number", [9234956e-9, 8343169e-9])
def test_a_decimal_in_the_middle_between_two_float32_is_one(number):
    """These two are 0.9999995 of half a step off: the arithmetic that looks at them must not lose the rest."""
    assert abs(float(np.float32(number)) - number) * 2.0**31 == pytest.approx(1.0 - 1 / (2 * 976562.5), abs=1e-8)
    small = [count / 1e9 for count in range(11, 60) if count % 10]
    assert told_by([*small, number], of_text=False) == Precision(decimals=9)


@pytest.mark.parametrize(
    ("first", "precision"),
    [(2_100_001, Precision(significant=7)), (4_200_001, None), (1_100_001, Precision(significant=7))],
)
def test_digits_are_told_where_a_float32_has_four_steps_for_each(first, precision):
    """Beyond 2**22 it has only halves, and every other number is whole by chance."""
    assert told_by([number for number in range(first, first + 50) if number % 10], of_text=False) == precision


def test_the_format_whose_share_is_larger_is_meant_and_not_the_one_with_more_numbers():
    """Six decimals of the small numbers all say so; six digits of the large ones mostly end in 0."""
    small = [number / 1e6 for number in range(100_001, 100_036) if number % 10]
    large = [300.0 + number / 1e3 for number in range(1, 9)] + [301.0 + number / 1e2 for number in range(20)]
    assert told_by(small + large, of_text=False) == Precision(decimals=6)


EVERY_BIT = [np.pi / 1e5, *np.sqrt(np.arange(1e6 + 1, 1e6 + 200))]


class Stage:
    """A recorded stage that notes which of its rows are looked at, and that seems to hold the same numbers everywhere."""

    def __init__(self, count, width, numbers):
        self.shape, self.numbers, self.looked_at = (count, width), numbers, []

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, part):
        self.looked_at.append(range(len(self))[part])
        return np.array([self.numbers], np.float32)


@pytest.mark.parametrize(
    ("count", "width", "ends"),
    [
        (3_000_000, 1, [4096, 1_052_672, 2_101_248, 3_000_000]), (400_000, 3, [1365, 350_890, 400_000]),
        (300, 4097, [1, 256, 300]), (3, (1 << 20) + 1, [1, 2, 3]), (4096, 1, [4096]), (10, 4096, [1, 10]), (5, 0, [5]),
    ],
)  # fmt: skip
def test_a_long_recording_is_looked_at_in_pieces_of_a_million_numbers(count, width, ends):
    """It is mapped, and larger than the memory; where the first four thousand numbers keep their bits, the rest is left."""
    whole, short = Stage(count, width, [0.5]), Stage(count, width, EVERY_BIT)
    assert precision_of({"x": whole}) is None
    assert whole.looked_at == [range(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    assert precision_of({"x": short}) is None
    assert short.looked_at == whole.looked_at[:2]


def test_lines_of_a_text_are_judged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred kilobytes, packed, of short lines took minutes: every format was tried on each line's four numbers."""
    calls = []
    judged = recorded_precision._is_multiple
    monkeypatch.setattr(recorded_precision, "_is_multiple", lambda *words: (calls.append(1), judged(*words))[1])
    rows = np.round(np.random.default_rng(5).uniform(-9.0, 9.0, (3000, 4)), 4)

    census = PrecisionCensus()
    for row in rows:
        census.add_text(row)

    assert census.precision == Precision(decimals=4)
    blocks = 1 + rows.size // 4096
    assert len(calls) <= 2 * blocks * (2 + 8 + 6)  # twice for each format that precision.py lists
