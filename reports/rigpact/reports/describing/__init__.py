"""A contract in words, and what changed between two of them; the generated pages."""
