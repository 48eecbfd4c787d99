"""Find the convention that differs: replay each stage from its recorded inputs, and search the conventions."""
