"""Commands that make or tell something."""
