"""A contract of anyone's own: a TOML file that says vectors, operations, networks and numbers. It never brings code."""
