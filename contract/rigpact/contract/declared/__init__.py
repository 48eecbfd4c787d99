"""Anyone's own contract: a TOML file that says vectors, operations, networks and numbers. It never brings code."""
