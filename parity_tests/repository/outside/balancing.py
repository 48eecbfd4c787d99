from pathlib import Path

import numpy as np

from rigpact.contract.declared.operation import Built, Operation
from rigpact.contract.declared.page import Page
from rigpact.contract.systems.plan import Cpp, Read, Step

CPP = """#include "rigpact/vocabulary/call.hpp"
inline void dead_zone(const rigpact::vocabulary::Call& c) {
    for (int i = 0; i < c.width; ++i) c.out[i] = c.in[0][i] < c.numbers[0] && c.in[0][i] > -c.numbers[0] ? 0.0f : c.in[0][i];
}"""


def build(use):
    source, limit = use.inputs[0], use.number("limit")
    return Built(
        source.fields,
        lambda frames: np.where(np.abs(frames[source.name]) < limit.of(frames), 0.0, frames[source.name]),
        planned=lambda frames: Step("dead_zone", (Read(source.name),), numbers=limit.of(frames)),
    )


DEAD_ZONE = Operation("dead_zone", "0 near 0", build, {"limit": "how near"}, cpp=Cpp("dead_zone", CPP))
PAGE = Page("balancing", Path(__file__).with_suffix(".toml").read_text("utf-8"))
