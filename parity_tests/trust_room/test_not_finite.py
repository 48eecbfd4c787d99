"""Values that are not finite"""

from pathlib import Path

import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import read_clip
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.network import OnnxNetwork, read_replay
from rigpact.reports.nonfinite.investigation import Investigation, investigate
from rigpact.reports.nonfinite.network_node import NodeOrigin

from ..every_case import every_case
from ..runtime_room import tiny_character as tiny
from .infinity_models import EMPTY_MASKS, LESSER_KNOWN, REAL, SWALLOWED, Nodes, write_model
from .tried import passes, refused

FRAMES = 3


def investigated(folder: Path, nodes: Nodes, output: str = "z") -> Investigation:
    contract = tiny.contract(folder)
    path = write_model(folder / "infinite.onnx", contract, nodes, output)
    return investigate(RunSetup(contract, OnnxNetwork(path, contract), tiny.clip(folder)), FRAMES, guard_frames=0)


NOT_ARRIVING = {**{name: (nodes, (("innocent", value),)) for name, (nodes, value) in SWALLOWED.items()}, **LESSER_KNOWN}
"""Each model, and every value that was made on the way."""


@passes(
    "an attention mask of minus infinity, a capped 1/0: 15 models whose infinity or NaN does not arrive",
    "finite; a note names the node and what caught its value",
)
@passes(
    "a comparison, Sign, Erf, a constant below a fraction, infinity less infinity: 13 models whose value does not arrive",
    "finite; a note for each value",
)
@every_case("name", NOT_ARRIVING)
def test_a_value_that_does_not_arrive_is_a_note(tmp_path, name):
    """A guard in the graph hides a division by zero until somebody removes the guard; a NaN behind an infinity is another."""
    nodes, values = NOT_ARRIVING[name]
    found = investigated(tmp_path, nodes)
    assert (found.verdict, found.exit_code, found.origin) == ("finite", 0, None)
    seen = {each.node: (str(each.value), each.frame, each.frames) for each in found.swallowed}
    assert seen == {node: (str(value), 0, FRAMES) for node, value in values}
    catcher = next(each for each in nodes if each[2] == "z")
    assert name not in SWALLOWED or f"z ({catcher[0]}) catches it" in str(found.swallowed[0])


@refused(
    "a NaN in a model that also holds an infinity which does not arrive: each of 15 with each of 5 origins",
    "the node whose value arrives, never the innocent one",
)
@every_case("name", SWALLOWED)
def test_the_origin_is_the_node_whose_value_arrives(tmp_path, name):
    """An engineer who repairs the attention mask loses a day, and the character still vanishes."""
    for real in REAL:
        nodes = (*SWALLOWED[name][0], *REAL[real], ("Add", "culprit z", "sum"))
        found = investigated(tmp_path, nodes, "sum")
        assert found.origin is not None
        assert found.origin.node is not None
        assert (found.verdict, found.origin.node.name, found.origin.node.op) == ("nonfinite", "culprit", real)


def origin_node(folder: Path, nodes: Nodes, output: str = "culprit") -> NodeOrigin:
    origin = investigated(folder, nodes, output).origin
    assert origin is not None
    assert origin.node is not None
    return origin.node


@refused(
    "a mask that leaves nothing, minus infinity in every place: 6 models",
    "the node that makes a NaN of it, never the mask",
)
@pytest.mark.parametrize("name", EMPTY_MASKS)
def test_a_mask_of_everything_is_no_origin(tmp_path, name):
    """A softmax over nothing is 0/0; minus infinity is what a mask is made of, and stays there."""
    node = origin_node(tmp_path, EMPTY_MASKS[name])
    assert (node.name, node.element) == ("culprit", (0, 0))


@refused("a mask of minus infinity that reaches the answer", "the mask's node and the constant")
@refused("two infinities of which each alone is capped, and together are NaN", "one of the two nodes")
def test_what_arrives_is_named(tmp_path):
    """The infinity itself is what the character gets; of two that fail only together, tried one by one both look innocent."""
    node = origin_node(tmp_path, (("Where", "never x minus", "culprit"),))
    assert (node.name, node.weight) == ("culprit", "minus")
    nodes = (
        ("Reciprocal", "zero", "first"), ("Exp", "big", "second"), ("Sub", "first second", "both"),
        ("Clip", "both low high", "z"),
    )  # fmt: skip
    assert origin_node(tmp_path, nodes, "z").name in {"first", "second"}


@refused("a free run that is 9·10⁵ deviations from its seed in frame 1, every number finite", "DIVERGING, exit 1")
def test_a_state_far_from_its_seed_diverges(real_data):
    """The mean pose read as a step turns each limb a hundred degrees a frame, and nothing is ever infinite."""
    contract = load_contract(real_data / "norm_template.json", real_data / "pretrain_template.json")
    network, clip = read_replay(real_data / "Walk_F_network_output.json"), read_clip(real_data / "Walk_F.json")
    found = investigate(RunSetup(contract, network, clip), 87, guard_frames=0)
    assert (found.verdict, found.exit_code) == ("diverging", 1)
    assert found.left is not None
    assert (found.left.kind, found.left.frame, found.left.size > 1e5) == ("departed", 1, True)
    residual = contract.with_conventions({"output_mode": "residual"})
    stays = investigate(RunSetup(residual, network, clip), 87, guard_frames=0)  # on answers to inputs that it never has
    assert (stays.verdict, stays.left) == ("undetermined", None)
