"""Output for an engine: C++ headers and conformance vectors."""
