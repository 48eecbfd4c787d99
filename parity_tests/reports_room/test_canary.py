"""Twelve of the 120 input orders of the demo model (all of them nightly): each is seen in the file or found by the probe."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract import Contract, load_contract, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.file import read_model
from rigpact.contract.rules import Subject, check
from rigpact.contract.rules.model import canary as rules
from rigpact.reference_runtime.recordings.trace import Trace, read_trace, write_trace
from rigpact.reports.engine.canary import PositionalModel, Probe, find_binding, matching, read_probe

onnx = pytest.importorskip("onnx")

from .permuted_models import NAMES, NEUTRAL, permuted, save, widened  # noqa: E402 - needs onnx

ORDERS = tuple(permutations(NAMES))
some_or_all = pytest.mark.parametrize(
    "orders", [ORDERS[::10], pytest.param(ORDERS, marks=pytest.mark.nightly)], ids=len
)
Permuted = Callable[..., Path]
CODES = {rule.code for rule in rules.TEXTS.rules}


@pytest.fixture(scope="module")
def model(demo_bundle: Path) -> Any:
    return onnx.load(demo_bundle / "model.onnx")


@pytest.fixture(scope="module")
def contract(demo_bundle: Path) -> Contract:
    return load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")


@pytest.fixture(scope="module")
def prediction(demo_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three rows of the demo's prediction: enough to tell the orders apart."""
    text = (demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json").read_text(encoding="utf-8")
    document = json.loads(text)
    for part in (
        document["teacher"],
        document["prediction"],
        document["aux_inputs"],
        document["teacher"]["aux_inputs"],
    ):
        part.update({key: rows[:3] for key, rows in part.items() if isinstance(rows, list)})
    path = tmp_path_factory.mktemp("probe") / "short_prediction.json"
    path.write_text(json.dumps(document | {"num_pairs": 3}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def probe(prediction: Path, contract: Contract) -> Probe:
    return read_probe(prediction, contract)


@pytest.fixture
def write(tmp_path: Path) -> Permuted:
    return lambda *arguments, **options: save(permuted(*arguments, **options), tmp_path / "permuted.onnx")


def static_codes(path: Path, demo_bundle: Path) -> set[str]:
    """The errors that the file alone gives away."""
    subject = Subject(read_document(demo_bundle / "norm_template.json"), model=read_model(path))
    found = [finding for finding in check(subject).findings if finding.file == str(path)]
    return {finding.rule.code for finding in found if finding.rule.severity == "error"}


def detections(
    write: Permuted, model: Any, demo_bundle: Path, orders: Any, **options: Any
) -> Iterator[tuple[Any, set[str]]]:
    for order in orders:
        yield order, static_codes(write(model, order, **options), demo_bundle)


@some_or_all
def test_names_give_every_order_away(write: Permuted, model: Any, demo_bundle: Path, orders: Any) -> None:
    """An exporter that lists its inputs in another order keeps their names: the engine does not read them."""
    found = Counter(tuple(sorted(codes)) for _, codes in detections(write, model, demo_bundle, orders))

    assert found == {("RP402",): len(orders) - 1, (): 1}


@some_or_all
@pytest.mark.parametrize("names", [NEUTRAL, NAMES], ids=["neutral names", "lying names"])
def test_widths_give_every_order_away(write: Permuted, model: Any, demo_bundle: Path, names: Any, orders: Any) -> None:
    """`input.1`, `onnx::Gemm_5`: exporters rename; the demo's five widths still tell them apart."""
    found = dict(detections(write, model, demo_bundle, orders, names=names))

    assert [order for order, codes in found.items() if "RP403" not in codes] == [NAMES]
    assert found[NAMES] == set()


@some_or_all
@pytest.mark.parametrize("names", [NEUTRAL, NAMES], ids=["neutral names", "lying names"])
def test_the_probe_finds_every_order_that_the_file_hides(
    write: Permuted, model: Any, demo_bundle: Path, probe: Probe, names: Any, orders: Any
) -> None:
    """Without names and widths nothing in the file is wrong; only running it shows which place takes what."""
    undetected, hidden = [], 0
    for order in orders:
        path = write(model, order, names=names, widths=False)
        hidden += not static_codes(path, demo_bundle)
        fitting = matching(find_binding(PositionalModel(path), probe), probe)
        if [binding.order for binding in fitting] != [order]:
            undetected.append(order)

    assert (hidden, undetected) == (len(orders), [])


def equal_widths_undetected(write: Permuted, model: Any, probe: Probe, orders: Any) -> list[Any]:
    wide = widened(model, 828)
    undetected = []
    for order in orders:
        fitting = matching(find_binding(PositionalModel(write(wide, order, names=NEUTRAL)), probe), probe)
        if [binding.order for binding in fitting] != [order]:
            undetected.append(order)
    return undetected


@some_or_all
def test_the_probe_needs_no_widths(write: Permuted, model: Any, probe: Probe, orders: Any) -> None:
    """All five inputs of one byte size: every order binds and runs, one is right."""
    assert equal_widths_undetected(write, model, probe, orders) == []


def test_a_model_of_one_row_is_probed_row_by_row(model: Any, probe: Probe, tmp_path: Path) -> None:
    """The deployed exporter fixes the batch to 1."""
    single = onnx.ModelProto.FromString(model.SerializeToString())
    for entry in (*single.graph.input, *single.graph.output):
        entry.type.tensor_type.shape.dim[0].Clear()
        entry.type.tensor_type.shape.dim[0].dim_value = 1

    fitting = matching(find_binding(PositionalModel(save(single, tmp_path / "single.onnx")), probe), probe)

    assert [binding.order for binding in fitting] == [NAMES]


def checked(command: Any, demo_bundle: Path, model: Path, *words: object) -> tuple[Any, dict[str, Any], list[str]]:
    """`rigpact check` on the demo bundle with a model: status, summary, the canary's codes."""
    companion = demo_bundle / "pretrain_template.json"
    bundle = demo_bundle / "norm_template.json"
    answer = command("check", bundle, "--companion", companion, "--onnx", model, *words, "--format", "json")
    report = json.loads(answer.out)
    codes = [finding["code"] for finding in report["findings"] if finding["code"] in CODES]
    return answer.status, next(iter(report["summary"].get("canary", ())), {}), codes


def test_a_prediction_among_the_files_probes_the_model(
    command: Any, demo_bundle: Path, write: Permuted, model: Any, prediction: Path
) -> None:
    """The gate must probe the model whenever it can, without a request."""
    right, wrong = demo_bundle / "model.onnx", ("cond", "state", "contacts", "angvel", "pose_hist")

    status, summary, codes = checked(command, demo_bundle, right, prediction)
    assert (status, summary["confirmed"], codes) == (0, True, [])
    assert summary["declared_error"] < 1e-4 < summary["nearest_other_error"]

    status, summary, codes = checked(command, demo_bundle, write(model, wrong, names=NEUTRAL, widths=False), prediction)
    assert (status, codes) == (1, ["RP415"])
    assert summary["fitting"] == [list(wrong)]


def test_the_text_says_that_the_order_was_confirmed(command: Any, demo_bundle: Path, prediction: Path) -> None:
    """Without this line, the reader cannot see whether the order was checked."""
    bundle, model = demo_bundle / "norm_template.json", demo_bundle / "model.onnx"

    answer = command("check", bundle, "--onnx", model, prediction)

    assert answer.out.startswith("Input order: confirmed by short_prediction.json (3 rows; the contract's order ")


def engine_trace(demo_run: Path, demo_bundle: Path, order: tuple[str, ...], out: Path) -> Path:
    """The demo run as an engine records it that binds in another order."""
    trace = read_trace(demo_run)
    model = PositionalModel(demo_bundle / "model.onnx")
    answer = model.run([trace.stages[name] for name in order])
    assert answer is not None
    write_trace(replace(trace, stages={**trace.stages, "y_norm": answer}), out)
    return out


@pytest.mark.parametrize("order", ORDERS[1::17], ids=",".join)
def test_the_order_that_an_engine_bound_is_named(
    command: Any, demo_bundle: Path, demo_run: Path, tmp_path: Path, order: tuple[str, ...]
) -> None:
    """A C++ programmer gets the order that his code binds, not 'something differs'."""
    trace = engine_trace(demo_run, demo_bundle, order, tmp_path / "engine.trace.jsonl")

    status, summary, codes = checked(command, demo_bundle, demo_bundle / "model.onnx", trace)

    assert (status, codes, summary["fitting"]) == (1, ["RP416"], [list(order)])


def test_a_clip_excludes_orders_but_proves_none(command: Any, demo_bundle: Path, write: Permuted, model: Any) -> None:
    """A model only approximates the next pose: a clip must not prove a wrong order, but must exclude a bad one."""
    clip, wild = demo_bundle / "clips" / "Walk_Spin.json", ("angvel", "cond", "contacts", "state", "pose_hist")

    status, summary, codes = checked(command, demo_bundle, demo_bundle / "model.onnx", clip)
    assert (status, codes, summary["confirmed"]) == (0, ["RP418"], False)

    path = write(model, wild, names=NEUTRAL, widths=False)
    assert checked(command, demo_bundle, path, clip)[2] in (["RP415"], ["RP415", "RP418"])


def test_a_prediction_of_another_model_confirms_nothing(
    command: Any, demo_bundle: Path, model: Any, prediction: Path, tmp_path: Path
) -> None:
    """An old prediction beside a new model confirms neither of them."""
    other = onnx.ModelProto.FromString(model.SerializeToString())
    for weight in other.graph.initializer:
        if weight.name == "output.weight":
            values = np.roll(onnx.numpy_helper.to_array(weight), 7, axis=0)
            weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))

    status, summary, codes = checked(command, demo_bundle, save(other, tmp_path / "other.onnx"), prediction)

    assert (status, codes, summary["fitting"]) == (0, ["RP417"], [])


@pytest.mark.parametrize("recording", ["prediction", "clip"])
def test_a_meaning_of_the_output_that_the_model_contradicts_is_named(
    command: Any, demo_bundle: Path, prediction: Path, tmp_path: Path, recording: str
) -> None:
    """Every bone goes to its residual as if it were a pose: the character collapses in its first frame."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["meta"]["rot6d_spec"]["output_mode"] = "absolute"
    bundle = tmp_path / "absolute.json"
    bundle.write_text(json.dumps(document), encoding="utf-8")
    beside = prediction if recording == "prediction" else demo_bundle / "clips" / "Walk_Spin.json"
    words = ("--companion", demo_bundle / "pretrain_template.json", "--onnx", demo_bundle / "model.onnx", beside)

    answer = command("check", bundle, *words, "--format", "json")

    found = {finding["code"]: finding["message"] for finding in json.loads(answer.out)["findings"]}
    assert answer.status == 1
    assert "read as 'residual' it is within" in found["RP451"]


def test_an_input_that_changes_nothing_is_named(
    command: Any, demo_bundle: Path, model: Any, prediction: Path, tmp_path: Path
) -> None:
    """Its weights were exported as zeros: the character never hears the player."""
    deaf = onnx.ModelProto.FromString(model.SerializeToString())
    for weight in deaf.graph.initializer:
        if weight.name == "hidden.weight":
            values = onnx.numpy_helper.to_array(weight).copy()
            values[:, 422:429] = 0.0
            weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))

    _, _, codes = checked(command, demo_bundle, save(deaf, tmp_path / "deaf.onnx"), prediction)

    assert "RP427" in codes


def test_every_recording_is_a_probe_beside_the_prediction(
    command: Any, demo_bundle: Path, demo_run: Path, tmp_path: Path, prediction: Path
) -> None:
    """One engine of two binds otherwise; a recording that cannot say it is no pass."""
    right, wrong, bare = (tmp_path / f"{name}.trace.jsonl" for name in ("right", "wrong", "bare"))
    engine_trace(demo_run, demo_bundle, NAMES, right)
    engine_trace(demo_run, demo_bundle, ORDERS[1], wrong)
    whole = read_trace(demo_run)
    write_trace(replace(whole, stages={"cond": whole.stages["cond"]}), bare)
    words = ("check", demo_bundle / "norm_template.json", "--companion", demo_bundle / "pretrain_template.json")
    words += ("--onnx", demo_bundle / "model.onnx", "--format", "json")

    found = json.loads(command(*words, right, wrong, prediction).out)

    assert [each["confirmed"] for each in found["summary"]["canary"]] == [True, False, True]
    assert [(each["code"], each["file"]) for each in found["findings"] if each["code"] in CODES] == [
        ("RP416", str(wrong))
    ]
    answer = command(*words, bare)
    assert answer.status == 2
    assert "not_probed" in json.loads(answer.out)["summary"]["canary"][0]


def test_a_recording_without_a_model_is_refused(command: Any, demo_bundle: Path, demo_run: Path) -> None:
    """The most common wrong call."""
    answer = command("check", demo_bundle / "norm_template.json", demo_run)

    assert (answer.status, answer.out) == (2, "")
    assert "with bundle and model beside it" in answer.err


@pytest.mark.parametrize(
    ("stages", "says"),
    [
        (("cond", "state"), "y_norm, the network's output"),
        (("y_norm", "cond", "state"), "only the inputs state, cond"),
        (("y_norm",), "none of the network's inputs"),
    ],
)
def test_a_recording_without_what_the_model_took_confirms_nothing(
    contract: Contract, demo_run: Path, tmp_path: Path, stages: tuple[str, ...], says: str
) -> None:
    """Inputs that are filled up with zeros would accuse an engine of an order that it does not have."""
    whole, path = read_trace(demo_run), tmp_path / "part.trace.jsonl"
    write_trace(Trace(whole.header, whole.frame, whole.time_s, {name: whole.stages[name] for name in stages}), path)
    with pytest.raises(UnusableInput, match=says):
        read_probe(path, contract)
