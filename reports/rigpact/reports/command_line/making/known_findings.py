"""Options of `rigpact check` about a project's configuration and its known findings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line.options import option

if TYPE_CHECKING:
    from rigpact.contract.findings import FindingsReport
    from rigpact.contract.settings.configuration import Configuration

ConfigFile = Annotated[
    Path | None, option("--config", "FILE", "rigpact.toml or pyproject.toml; else the nearest one, going up.")
]
WriteBaseline = Annotated[
    Path | None, option("--write-baseline", "FILE", "Write the errors and warnings as known; needs the three below.")
]
Owner = Annotated[str | None, option("--owner", "NAME", "Who answers for the known findings.")]
Reason = Annotated[str | None, option("--reason", "TEXT", "Why they may stay for now.")]
Expires = Annotated[str | None, option("--expires", "YYYY-MM-DD", "The last day on which they are waived.")]


def configuration_from_option(path: Path | None) -> Configuration | None:
    """Read the given configuration, else the nearest one; None if there is none."""
    from rigpact.contract.files.reading import working_directory
    from rigpact.contract.settings.configuration import find_configuration, read_configuration

    found = path or find_configuration(working_directory())
    return read_configuration(found) if found is not None else None


def configured(report: FindingsReport, configuration: Configuration | None) -> FindingsReport:
    """The report after the project's configuration is applied, with today's date."""
    from rigpact.contract.settings.days import today
    from rigpact.contract.settings.hearing import configured_report

    return configured_report(report, configuration, today())


def save_baseline(
    path: Path, report: FindingsReport, configuration: Configuration | None, about: Mapping[str, str | None]
) -> None:
    """Write today's errors and warnings as known findings, without those that the configuration removes."""
    from dataclasses import replace

    from rigpact.contract.findings import Severity, number_of
    from rigpact.contract.settings.baseline import write_baseline
    from rigpact.contract.settings.days import refuse_far_day, today
    from rigpact.contract.settings.hearing import Hearing
    from rigpact.reports.terminal import say

    given = {name: value for name, value in about.items() if value}
    for name in about:
        if name not in given:
            raise UnusableInput("--write-baseline", f"no --{name}", "--owner, --reason and --expires beside it")
    refuse_far_day(given["expires"], "--expires", today())
    if configuration is not None:
        report = Hearing(replace(configuration, baseline=None), today()).hear(report)
    failing = [finding for finding in report.findings if finding.rule.severity is not Severity.INFO]
    count = write_baseline(path, failing, given["owner"], given["reason"], given["expires"])
    say(f'{number_of(count, "known finding")} written to {path}; name it in rigpact.toml: baseline = "{path.name}"')
