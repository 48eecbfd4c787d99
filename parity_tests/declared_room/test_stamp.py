"""A contract's hash inside a model: `rigpact codegen --stamp` writes it, `check` says when it belongs to another."""

import json
import shutil
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest

from rigpact.contract.declared.vocabulary import known_operations
from rigpact.reference_runtime.native.library import headers_folder

from ..every_case import every_case
from ..measuring.pages.generated_docs import SAMPLES, sample_contract, stage_on_a_page
from ..shown_output import follow
from .declared_rule_cases import FOUR, METADATA, SOUND, WIDTH
from .samples_of_files import sample


@pytest.fixture
def folder(tmp_path):
    """A folder with a contract, and a model that belongs to it."""
    (tmp_path / "contract.toml").write_text(FOUR, encoding="utf-8")
    SOUND.write(tmp_path / "policy.onnx")
    return tmp_path


def stamp(command, folder, contract="contract.toml", model="policy.onnx", out="stamped.onnx"):
    return command("codegen", folder / contract, "--stamp", folder / model, "-o", folder / out)


def codes(answer):
    return {each["code"] for each in json.loads(answer.out)["findings"]}


def test_a_stamped_model_passes_with_its_own_contract_only_and_is_the_same_network(folder, command):
    """The contract of one run and the model of another load; a stamp that changed a weight would ship another network."""
    (folder / "other.toml").write_text(FOUR.replace("0.25731", "0.25732"), encoding="utf-8")
    stamped = stamp(command, folder)
    assert (stamped.status, "belongs to contract.toml" in stamped.out) == (0, True)
    for contract, expected in (("contract.toml", (0, set())), ("other.toml", (1, {"RP770"}))):
        checked = command("check", folder / contract, folder / "stamped.onnx", "--format", "json")
        assert (checked.status, codes(checked)) == expected
    rows = np.random.default_rng(3).normal(size=(5, WIDTH)).astype(np.float32)
    sessions = [onnxruntime.InferenceSession(str(folder / name)) for name in ("policy.onnx", "stamped.onnx")]
    assert np.array_equal(*(session.run(None, {"obs": rows})[0] for session in sessions))
    metadata = {entry.key: entry.value for entry in onnx.load(folder / "stamped.onnx").metadata_props}
    assert metadata.items() > METADATA.items()
    assert set(metadata) - set(METADATA) == {"rigpact_contract_sha256"}
    assert f"contract.toml, {metadata['rigpact_contract_sha256'][:12]}\n" in stamped.out


def test_stamping_again_replaces_the_hash(folder, command):
    """Two hashes in one model: each tool would read another one."""
    (folder / "other.toml").write_text(FOUR.replace("0.25731", "0.25732"), encoding="utf-8")
    for contract in ("other.toml", "contract.toml"):
        stamp(command, folder, contract, out="policy.onnx")
    keys = [entry.key for entry in onnx.load(folder / "policy.onnx").metadata_props]
    assert len(keys) == len(set(keys))
    assert codes(command("check", folder / "contract.toml", folder / "policy.onnx", "--format", "json")) == set()


def test_weights_beside_the_model_go_with_it(folder, command):
    """A stamped model without its weights does not load where it is shipped to."""
    model = onnx.load(folder / "policy.onnx")
    onnx.save(model, folder / "large.onnx", save_as_external_data=True, location="large.data", size_threshold=0)
    (folder / "shipped").mkdir()
    assert stamp(command, folder, model="large.onnx", out="shipped/policy.onnx").status == 0
    onnxruntime.InferenceSession(str(folder / "shipped" / "policy.onnx"))
    again = stamp(command, folder, model="large.onnx", out="shipped/policy.onnx")
    (folder / "large.data").unlink()
    for refused in (again, stamp(command, folder, model="large.onnx", out="shipped/b.onnx")):
        assert (refused.status, "large.data" in refused.err) == (2, True)
    assert not (folder / "shipped" / "b.onnx").exists()


def test_a_contract_that_reads_the_model_itself_is_not_stamped(folder, command):
    """The hash would cover the stamp: no model would ever belong to such a contract."""
    text = FOUR.replace("scale = 0.25", 'scale = "action_scale"')
    text = text.replace("mean = [", 'action_scale = { file = "policy.onnx", at = "action_scale" }\nmean = [', 1)
    (folder / "contract.toml").write_text(text, encoding="utf-8")
    answer = stamp(command, folder)
    assert (answer.status, "policy.onnx itself" in answer.err) == (2, True)
    assert not (folder / "stamped.onnx").exists()


@every_case("content", [b"", b"no model", b"\x08\x08"])
def test_what_is_no_model_is_refused(folder, command, content):
    """A stamp on any bytes makes a file that looks like a model."""
    (folder / "policy.onnx").write_bytes(content)
    answer = stamp(command, folder)
    assert (answer.status, answer.err[:15]) == (2, "rigpact: error:")


def test_a_model_of_a_bundle_is_stamped_too(tmp_path, demo_bundle, command):
    """The character's model and bundle are exported together, and shipped by different people."""
    bundle = tmp_path / "norm_template.json"
    shutil.copyfile(demo_bundle / "norm_template.json", bundle)
    out = tmp_path / "stamped.onnx"
    assert command("codegen", bundle, "--stamp", demo_bundle / "model.onnx", "-o", out).status == 0
    own = command("check", bundle, out, "--format", "json")
    root = json.loads(bundle.read_text(encoding="utf-8"))
    root["MuX"][0] += 0.001
    bundle.write_text(json.dumps(root), encoding="utf-8")
    other = command("check", bundle, out, "--format", "json")
    assert "RP770" not in codes(own)
    assert "RP770" in codes(other)


def test_a_stamp_takes_no_option_of_a_header(tmp_path, command):
    """An option that is passed over looks as if it had been obeyed."""
    refused = command(
        "codegen", "contract.toml", "--stamp", "a.onnx", "--loop", "--namespace", "hero", "-o", tmp_path / "s.onnx"
    )
    assert (refused.status, "--loop, --namespace: found --stamp beside it" in refused.err) == (2, True), refused.err
    assert list(tmp_path.iterdir()) == []


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


ENGINE = sample("engine_of_a_header.txt")


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
    without = {
        "network",
        "constant",
        "replaced",
        "gather",
    }  # nothing to confuse, or only where two lists hold the same names
    for name in SAMPLES:
        contract = sample_contract(name)
        assert name in without or contract.system.knobs, name
