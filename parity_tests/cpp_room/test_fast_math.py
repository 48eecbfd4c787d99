"""An engine built with fast maths: its start-up test must not take NaN for a right number."""

import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.fixtures import demo_bundle
from rigpact.reports.engine.header import contract_header

from .conftest import ROOM, compiled, ran

VECTORS, STATISTICS = 64, 16
"""Bits of rigpact::Check."""


@pytest.mark.parametrize("optimisation", ["-O0", "-O3"])
def test_a_start_up_test_refuses_nan_under_fast_maths(compiler, tmp_path, optimisation):
    """With `-ffast-math` every comparison with NaN was true, so a network of NaN passed."""
    contract = open_contract(demo_bundle().parent / "neurarig" / "neurarig.json")
    (tmp_path / "contract.hpp").write_text(contract_header(contract), encoding="utf-8")
    flags = (optimisation, "-ffast-math")
    done = ran(compiled(compiler, ROOM / "fast_math.cpp", tmp_path / "fast_math", *flags, include=[tmp_path]))
    *strange, fine = done.stdout.splitlines()
    assert strange == [f"{VECTORS} {VECTORS} {STATISTICS} 0"] * 4
    assert fine == "0"
