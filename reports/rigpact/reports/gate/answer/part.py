"""One question of the gate and its answer."""

from dataclasses import dataclass
from typing import Any

from rigpact.contract.findings import FindingsReport, Verdict


@dataclass(frozen=True)
class Part:
    """One question of the gate and its answer.

    name: stable and kebab-case, for machines (`files`, `teacher/walk`, `engine-trace/walk`). title: for people.
    is_waived: one finding with owner, reason and day replaces all others.
    """

    name: str
    title: str
    report: FindingsReport
    is_waived: bool = False

    @property
    def verdict(self) -> Verdict:
        """The part's own verdict; a part that is waived as a whole passes."""
        return "pass" if self.is_waived else self.report.verdict

    def to_json(self) -> dict[str, Any]:
        """The part in the shape of the `rigpact-gate` format."""
        answer = self.report.to_json()
        return {"name": self.name, "title": self.title, "verdict": self.verdict} | {
            key: answer[key] for key in ("findings", "ledger", "summary")
        }
