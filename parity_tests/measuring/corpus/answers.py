"""An answer without its wording: exit status, verdict, first place that differs, causes, and the rules that found something."""

import contextlib
import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rigpact.reports.command_line import run_command_line

Said = Mapping[str, Any]
_PLACE = ("stage", "frame", "bone", "channel")


def asked(words: tuple[str, ...]) -> Said:
    """Run a command line in this process and folder. What it says."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_command_line(list(words))
    return {"status": status, **said(status, out.getvalue(), err.getvalue())}


def said(status: int, out: str, err: str) -> Said:
    """The fields of an answer in JSON; the verdict alone of an answer in words."""
    if not out.lstrip().startswith("{"):
        return {"verdict": in_a_word(status, out, err) if status < 2 else "refused"}
    answer = json.loads(out)
    first = answer.get("first_divergence") or answer.get("summary", {}).get("first_divergence") or {}
    found = {
        "verdict": answer.get("verdict"),
        "first": [first[name] for name in _PLACE if first.get(name) is not None],
        "causes": _causes(answer),
        "rules": dict(sorted(Counter(finding["code"] for finding in answer.get("findings", ())).items())),
    }
    return {name: value for name, value in found.items() if value}


def _causes(answer: Mapping[str, Any]) -> list[str]:
    """The causes of an explanation: conventions with the frames that they explain, a supposition, relations with their places."""
    causes = [f"{each['stage']}: {_changes(each)} in {each['frames_explained']}" for each in answer.get("causes", ())]
    supposed = [f"supposed: {answer['supposition']}"] if answer.get("supposition") else []
    return [*causes, *supposed, *(f"{each['kind']} at {each['place']}" for each in answer.get("relations", ()))]


def _changes(cause: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(cause["changes"].items()))


def in_a_word(status: int, out: str, err: str) -> str:
    """A cell: why not, else the convention that is named, the defects that are missed, the verdict."""
    if status > 1:
        reason = re.search(r"found (?:.* which )?(.*), expected", err)
        return f"{reason[1] if reason else err.strip()} (status {status})"
    named = re.search(r"With (\w+) = (\S+)", out)
    if named:
        return f"names `{named[1]}`"
    caught = re.search(r"(\d+) of (\d+) planted defects caught", out)
    if caught:
        return "all caught" if caught[1] == caught[2] else f"{int(caught[2]) - int(caught[1])} missed"
    verdicts = re.findall(r"^([A-Z]{4,}): ", out, re.MULTILINE)
    return verdicts[-1] if verdicts else "done" if status == 0 else f"status {status}"
