"""Which convention differs: each stage replayed from its own recorded inputs, and the search that explains what differs."""
