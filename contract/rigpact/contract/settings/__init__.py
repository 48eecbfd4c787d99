"""The declarations of a project in rigpact.toml: rules re-graded, waivers with an owner and a day, the keys of [gate]."""
