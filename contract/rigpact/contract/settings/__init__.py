"""What a project declares in rigpact.toml: rules re-graded, waivers with an owner and a day, the keys of [gate]."""
