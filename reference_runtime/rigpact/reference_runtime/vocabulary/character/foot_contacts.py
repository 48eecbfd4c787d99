"""Foot contacts: one number a foot, left foot first, from the soft scores of a clip.

To add a source: a row in `SOURCE`. Not here: the engine's own contacts with hysteresis, `ground_contacts.py` of its system.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONTACTS, CONTACTS_WIDTH
from rigpact.contract.statistics import FloatArray, Statistics
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime.operations.normalisation import zscored_by
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.vocabulary.character.bounds import copied
from rigpact.reference_runtime.vocabulary.character.fed_state import FROM_THE_CLIP

CONTACT_SCORE = 0.5
"""Soft scores from this value on count as contact if the input is binary."""


def _whitened(scores: FloatArray, contract: Contract) -> FloatArray:
    if CONTACTS not in contract.numbers.state:
        raise UnusableInput(
            "contacts_source", "'whitened' for a bundle whose state has no Contacts slice", "MuX and StdX of that slice"
        )
    place, statistics = contract.numbers.state[CONTACTS].range, contract.numbers.state_statistics
    return zscored_by(scores, Statistics(statistics.mean[place], statistics.std[place]))


SOURCE: Mapping[str, Callable[[FloatArray, Contract], FloatArray]] = {
    "soft_scores": lambda scores, _contract: scores,
    "binary": lambda scores, _contract: (scores >= CONTACT_SCORE).astype(scores.dtype),
    "whitened": _whitened,
    "zeros": lambda scores, _contract: np.zeros_like(scores),
    "swapped_feet": lambda scores, _contract: scores[..., ::-1],
}


def contact_rows(scores: FloatArray | None, frames: int, contract: Contract) -> FloatArray:
    """Contacts input of each frame, (N, 2), from soft contact scores (N, 2); zeros for a clip without any.

    The engine also uses zeros if the feet were not measured.
    """
    dtype = compute_dtype(contract.conventions)
    known = np.zeros((frames, CONTACTS_WIDTH), dtype) if scores is None else scores.astype(dtype)
    return stored(SOURCE[contract.conventions.contacts_source](known, contract))


CONTACTS_SOURCE = Knob(
    "contacts_source", SOURCE, "the numbers of the Contacts input", {
        "soft_scores": CodeHint("Contacts = SoftContactScore", "evidence.soft_contact_score"),
        "binary": CodeHint("Contacts = Score >= 0.5f ? 1.f : 0.f", "(score >= 0.5).float()"),
        "whitened": CodeHint("(Score - MuX[Contacts]) / StdX[Contacts]", "(score - mu) / std"),
        "zeros": CodeHint("no Contacts slice in the schema: zeros are bound", "torch.zeros(2)"),
        "swapped_feet": CodeHint("right foot first", "score[[1, 0]]"),
    },
)  # fmt: skip


def build(use: Use) -> Built:
    """The clip's rows; a free run loops over the clip."""
    return Built(
        partial(_fields, use.word_list("feet")), lambda frames: frames.driven(use.stage), copied, is_propagated=True,
        source=FROM_THE_CLIP, from_clip=True,
    )  # fmt: skip


def _fields(feet: Sequence[str], contract: Contract) -> FieldLayout:
    state = contract.numbers.state
    width = state[CONTACTS].size if CONTACTS in state else len(feet)
    names = [feet[place] if place < len(feet) else f"contact {place}" for place in range(width)]
    return FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))


OPERATION = Operation(
    "foot_contacts", "whether each foot of a clip stands on the floor", build,
    {"feet": "the names of the feet, or a name of [names]"}, (0, 0), shared=(CONTACTS_SOURCE,), only_on_pages=True,
)  # fmt: skip
