"""Completions for a shell: rule codes, systems, operations, conventions. Files are completed by the shell itself."""


def known_codes(incomplete: str) -> list[tuple[str, str]]:
    """Rules by code or by name."""
    from rigpact.contract.rules import ALL_RULES

    found = [(rule.code, rule.name) for rule in ALL_RULES] + [(rule.name, rule.code) for rule in ALL_RULES]
    return [each for each in found if each[0].lower().startswith(incomplete.lower())]


def system_names(incomplete: str) -> list[tuple[str, str]]:
    """The installed systems."""
    from rigpact.contract.pages.registry import every_system

    return [(each.name, each.title) for each in every_system() if each.name.startswith(incomplete)]


def known_words(incomplete: str) -> list[str]:
    """Operations and profiles of declared contracts."""
    from rigpact.contract.declared.profiles import known_profiles
    from rigpact.contract.declared.vocabulary import known_operations

    return [name for name in (*known_operations(), *known_profiles()) if name.startswith(incomplete)]


def known_conventions(incomplete: str) -> list[str]:
    """KNOB=VALUE of every installed system."""
    from rigpact.contract.pages.registry import every_system

    knobs = {name: knob for system in every_system() for name, knob in system.knobs.items()}
    name, has_name, begin = incomplete.partition("=")
    if not has_name:
        return [f"{knob}=" for knob in knobs if knob.startswith(name)]
    values = getattr(knobs.get(name), "values", ())
    return [f"{name}={value}" for value in values if str(value).startswith(begin)]
