"""Runs that differ as two correct implementations may."""

from ..measuring.scores.benign import alarms, benign_variants


def test_honest_variants_raise_no_alarm() -> None:
    """Another BLAS, another thread count, q for -q: a gate that alarms on these is switched off."""
    variants = list(benign_variants())
    assert len(variants) >= 100
    assert alarms(variants[::40]) == []
