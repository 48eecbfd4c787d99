"""A figure of a system: what was measured, the bar that it must meet, and a baseline that needs no training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number.

    name: what was measured. bar: the value that is required, in words; empty if the figure is only reported. met: whether
    the value meets the bar. baseline: what a method without a network or training reaches, in words; empty if there is none.
    """

    name: str
    value: float
    unit: str = ""
    bar: str = ""
    met: bool = True
    baseline: str = ""


def below(name: str, value: float, limit: float, unit: str = "", baseline: str = "") -> Figure:
    """A figure that must not exceed its limit; NaN does not meet it."""
    return Figure(name, value, unit, f"<= {limit:g}", bool(value <= limit), baseline)


def at_least(name: str, value: float, limit: float, unit: str = "", baseline: str = "") -> Figure:
    """A figure that must reach its limit; NaN does not meet it."""
    return Figure(name, value, unit, f">= {limit:g}", bool(value >= limit), baseline)


def within(name: str, value: float, low: float, high: float, unit: str = "", baseline: str = "") -> Figure:
    """A figure that must lie in a range."""
    return Figure(name, value, unit, f"{low:g} to {high:g}", bool(low <= value <= high), baseline)


def exactly(name: str, value: float, wanted: float, unit: str = "", baseline: str = "") -> Figure:
    """A count that must be one number."""
    return Figure(name, value, unit, f"= {wanted:,.15g}", value == wanted, baseline)
