"""The tutorial followed from an empty folder: its files written, its commands run, its output compared.

Set RIGPACT_REGENERATE=1 to write the outputs into the page anew.
"""

import shutil
import subprocess

from rigpact.contract.declared.vocabulary import known_operations
from rigpact.reference_runtime.native.library import headers_folder

from ..measuring.pages.operations_page import SAMPLES, sample_contract, stage_on_a_page
from ..shown_output import follow

STATUS_IN_ORDER = (0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0)
"""check, record, explain (it names the cause), record, explain, check with a warning, explain; then, with an operation of
one's own: record, its description, check, explain (it names the cause), its loop in C++."""


def test_the_tutorial_does_what_it_says(command, checkout, tmp_path, monkeypatch):
    """A reader who sees another output than the page shows stops there, ten minutes before the first verdict."""
    monkeypatch.chdir(tmp_path)
    ran = follow(checkout / "docs" / "own-contract.md", command)
    answers = [each.out for each in ran]
    assert tuple(each.status for each in ran) == STATUS_IN_ORDER
    assert "obs.order = newest_first" in answers[2]
    assert "AGREES" in answers[4]
    assert "RP749" in answers[5]
    assert "obs.order is not declared" in answers[5]
    assert "With sent.curve = tanh the error of sent falls" in answers[10]
    assert _self_test_of(tmp_path) == "ok"


ENGINE = """
#include <cstdio>
#include <vector>
#include "contract.hpp"
int main() {
    std::vector<char> bytes(1 << 20);
    std::FILE* file = std::fopen("contract.toml", "rb");
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    std::fclose(file);
    const auto test = rigpact_contract::SelfTestLoop(bytes.data(), bytes.size(), nullptr, 0);
    std::puts(test.ok() ? "ok" : test.what);
}
"""


def _self_test_of(folder):
    """What the loop of the tutorial's header says of itself; "ok" where no compiler can tell."""
    compiler = next(filter(shutil.which, ("g++", "clang++")), None)
    if compiler is None:
        return "ok"
    (folder / "engine.cpp").write_text(ENGINE, encoding="utf-8")
    words = (
        compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{headers_folder()}", "engine.cpp", "-o", "engine",
    )  # fmt: skip
    subprocess.run(words, check=True, cwd=folder, timeout=300)
    return subprocess.run(
        ["./engine"], check=True, cwd=folder, capture_output=True, text=True, timeout=60
    ).stdout.strip()


def test_every_operation_has_a_sample_with_its_knobs():
    """An operation without an example is found by nobody."""
    builders = {name: getattr(each.build, "func", each.build) for name, each in known_operations().items()}
    own = {name for name, build in builders.items() if build.__module__.startswith("rigpact.")}
    on_pages = {name for name, each in known_operations().items() if each.only_on_pages}
    assert own == set(SAMPLES) | on_pages
    assert [name for name in on_pages if not stage_on_a_page(name)] == []
    without = {"network", "constant", "replaced"}  # nothing to confuse, or only where two lists hold the same names
    for name in SAMPLES:
        contract = sample_contract(name)
        assert name in without or contract.system.knobs, name
