"""The stages of a contract as steps of C++: for the native executor, and for the loop that `rigpact codegen` writes."""

from rigpact.contract.declared.vocabulary import operations_of_rigpact
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.plan import CPP_OPERATIONS, Chosen, Read, Step, moved
from rigpact.contract.systems.stage import NotKnown, Stage
from rigpact.reference_runtime.graph.bounds import KnownFrames
from rigpact.reference_runtime.graph.replayed import source_of


def stage_without_cpp(contract: Contract, *, takes_own: bool = False) -> Stage | None:
    """The first stage that C++ cannot compute; None where there is none. takes_own: C++ that operations bring is there too."""
    every: tuple[Stage, ...] = contract.system.stages
    for stage in every:
        is_given = stage.comes_from_outside and not stage.carried_fields
        if not is_given and not stage.is_answer:
            try:
                step = planned_step(stage, contract)
            except NotKnown:
                continue  # there is no such stage under these conventions
            if step is None or (step.operation not in CPP_OPERATIONS if step.cpp is None else not takes_own):
                return stage
    return None


def planned_step(stage: Stage, contract: Contract, fps: float | None = None) -> Step | None:
    """The step that computes a stage under the contract's conventions; None where it has none.

    fps: of the run, where it is not the contract's. `NotKnown` where these conventions have no such stage.
    """
    frames = KnownFrames(contract, {})
    frames.fps = fps or frames.fps
    return None if stage.planned is None else stage.planned(frames)


def fed_back(stage: Stage, contract: Contract) -> Step:
    """The step by which a free run takes a stage over from the frame before."""
    width = stage.fields(contract).width
    return moved([Read(source_of(stage, KnownFrames(contract, {})), -1)], [width], range(width))


def word_number(step: Step, word: int | str | Chosen) -> int:
    """A word of a step as a number: readings as `vocabulary/readings.hpp` numbers them."""
    if isinstance(word, Chosen):
        return word.number
    return operations_of_rigpact()[step.operation].number_of(word) if isinstance(word, str) else word
