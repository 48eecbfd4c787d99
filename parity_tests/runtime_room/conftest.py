"""Settings of this room: drawn examples may take as long as a busy machine needs; the tiny character, loaded once."""

import numpy as np
import pytest
from hypothesis import settings

from . import tiny_character

settings.register_profile("runtime_room", deadline=None)
settings.load_profile("runtime_room")


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """The contract of the tiny character."""
    return tiny_character.contract(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def training():
    """The training side's functions, and what takes an array to them."""
    torch = pytest.importorskip("torch", reason="whether training and engine agree is not known without torch")
    from rigpact.training import enemy_geometry as training

    return training, lambda array: torch.from_numpy(np.ascontiguousarray(array))
