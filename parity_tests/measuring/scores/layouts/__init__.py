"""How much of the layout of a network's input is inferred from a recording: drawn runtimes, and their score."""
