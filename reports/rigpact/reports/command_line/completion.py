"""Completions for a shell: what can be shown, conventions. Files are completed by the shell itself."""

import typer


def known_words(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Whatever `rigpact show` shows by a name; of a name of two words, the one that is being typed."""
    from rigpact.reports.describing.shown import known_names

    before = "".join(f"{word} " for word in ctx.params.get("name") or ())
    return [(name.removeprefix(before), what) for name, what in known_names(before + incomplete)]


def known_conventions(incomplete: str) -> list[str]:
    """KNOB=VALUE of every installed system."""
    from rigpact.contract.pages.registry import every_system

    knobs = {name: knob for system in every_system() for name, knob in system.knobs.items()}
    name, has_name, begin = incomplete.partition("=")
    if not has_name:
        return [f"{knob}=" for knob in knobs if knob.startswith(name)]
    values = getattr(knobs.get(name), "values", ())
    return [f"{name}={value}" for value in values if str(value).startswith(begin)]
