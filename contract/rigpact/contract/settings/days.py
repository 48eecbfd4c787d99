"""Days in a project's settings: today, and the last day on which something is let be.

What is let be is a debt: it ends within a year of today, or nobody would look at it again.
"""

from datetime import date, datetime, timedelta

from rigpact.contract.errors import UnusableInput

LONGEST = timedelta(days=366)
"""From any day to the same day of the next year, leap day or not."""


def today() -> date:
    """The day on this machine."""
    return datetime.now().astimezone().date()


def parse_day(text: str, place: object) -> date:
    """Read YYYY-MM-DD; UnusableInput for anything else."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UnusableInput(place, repr(text), "a day as YYYY-MM-DD") from None


def refuse_far_day(text: str, place: object, now: date) -> None:
    """UnusableInput for a last day that is more than a year ahead, or is none."""
    if parse_day(text, place) - now > LONGEST:
        raise UnusableInput(
            place,
            repr(text),
            f"a day at most a year ahead ({now + LONGEST})",
            "an exception is looked at once a year",
        )


class LetBe:
    """Something that a project lets be until its last day, YYYY-MM-DD."""

    expires: str

    def holds(self, today: date) -> bool:
        """Whether its day has not passed."""
        return today <= date.fromisoformat(self.expires)
