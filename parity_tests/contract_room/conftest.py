"""The small sound character as files, and the tools to damage it: a test edits one place and asks for one finding."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.documents import Document, documents_remembered, read_document
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.catalogue import check
from rigpact.contract.rules.family import Artefacts

from . import small_character as small

FILES = ("bundle", "companion", "clip", "batch", "prediction")


@cache
def _sound():
    """Every artefact of the sound character, as the text of a file."""
    bundle = small.bundle_document()
    batch = small.batch_document(bundle)
    others = small.companion_document(bundle), small.clip_document(), batch, small.prediction_document(batch)
    return {name: json.dumps(value) for name, value in zip(FILES, (bundle, *others), strict=True)}


def _own(name):
    """Makes an artefact whose values share no list with each other, so that an edit changes one place."""
    return lambda: json.loads(_sound()[name])


@dataclass
class Sample:
    """Every artefact of the small character as plain JSON values, ready to be edited."""

    folder: Path
    bundle: dict[str, Any] = field(default_factory=_own("bundle"))
    companion: dict[str, Any] = field(default_factory=_own("companion"))
    clip: dict[str, Any] = field(default_factory=_own("clip"))
    batch: dict[str, Any] = field(default_factory=_own("batch"))
    prediction: dict[str, Any] = field(default_factory=_own("prediction"))
    model: ModelSignature = field(default_factory=small.model_signature)
    texts: dict[str, Callable[[str], str]] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    remembered: dict[str, Document] = field(default_factory=dict)

    def anew(self, _number):
        """A sound sample for one case of `every_case`; what the case does not damage is read and looked at once for all."""
        if not self.remembered:
            Sample(self.folder, remembered=self.remembered).subject()
        return Sample(self.folder, remembered=self.remembered)

    def write(self, name):
        """Write one artefact as a file (through `texts[name]`, an edit of its text) and read it back."""
        path = self.folder / f"{name}.json"
        path.write_text(self.texts.get(name, str)(json.dumps(getattr(self, name))), encoding="utf-8")
        with documents_remembered(self.remembered):
            return read_document(path)

    def subject(self):
        """Everything, as one check looks at it."""
        bundle, companion, *others = (None if name in self.absent else self.write(name) for name in FILES)
        model = None if "model" in self.absent else self.model
        return Artefacts(bundle, companion, tuple(each for each in others if each is not None), model)

    def check(self):
        """Run every rule on everything."""
        return check(self.subject())

    def findings(self, code):
        """The findings of one rule."""
        return [finding for finding in self.check().findings if finding.rule.code == code]


@pytest.fixture
def sample(tmp_path):
    """The small sound character; `test_the_sample_checks_clean` checks that it has no finding."""
    return Sample(tmp_path)
