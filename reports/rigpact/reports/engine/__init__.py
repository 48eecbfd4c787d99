"""Output for an engine: C++ headers, conformance vectors, and the order in which the model's inputs are bound."""
