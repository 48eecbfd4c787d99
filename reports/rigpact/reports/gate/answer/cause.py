"""One cause: a mistake on one side of the contract, with all findings that it shows itself in."""

from dataclasses import dataclass
from typing import Any

from rigpact.contract.findings import Finding, Severity
from rigpact.contract.rules.answers import gate

CONTRACT, MODEL, ENGINE, TRAINING, CLIPS, PROJECT = "contract", "model", "engine", "training", "clips", "project"
SEVERITIES = tuple(Severity)


@dataclass(frozen=True)
class Cause:
    """One mistake. side: who makes it. findings: what it shows itself in; the first names it."""

    side: str
    findings: tuple[Finding, ...]

    @property
    def lead(self) -> Finding:
        """The finding that says what is wrong."""
        return self.findings[0]

    @property
    def severity(self) -> Severity:
        """That of its worst finding."""
        return min((each.rule.severity for each in self.findings), key=SEVERITIES.index)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is in, each once."""
        return tuple(dict.fromkeys(finding.file for finding in self.findings))

    @property
    def title(self) -> str:
        """What is wrong, in a sentence."""
        if self.lead.rule.code != gate.CONVENTION_DIFFERS.code:
            return self.lead.message
        return "{stage} was computed with {changes}: with it {effect}".format_map(self.lead.values)

    @property
    def name(self) -> str:
        """What is wrong, in as few words as say it."""
        if self.lead.rule.code == gate.CONVENTION_DIFFERS.code:
            return f"{self.lead.values['changes']} in {self.lead.file}"
        return self.lead.message

    @property
    def effect(self) -> str:
        """What it does to the character, as far as it was measured."""
        said = (str(each.values["on_character"]) for each in self.findings if each.values.get("on_character"))
        return next(said, "")

    @property
    def advice(self) -> str:
        """What to do about it: the lines to change, where they are known, else its rule's hint."""
        patch = self.lead.values.get("patch")
        return "; ".join(map(str, patch)) if patch else self.lead.rule.hint

    @property
    def codes(self) -> dict[str, int]:
        """How often each rule found it."""
        found = [finding.rule.code for finding in self.findings]
        return {code: found.count(code) for code in dict.fromkeys(found)}

    def to_json(self) -> dict[str, Any]:
        """The cause in the shape of the `rigpact-gate` format."""
        return {
            "severity": self.severity.value, "side": self.side, "title": self.title, "effect": self.effect,
            "files": list(self.files), "codes": self.codes, "findings": [each.fingerprint for each in self.findings],
        }  # fmt: skip
