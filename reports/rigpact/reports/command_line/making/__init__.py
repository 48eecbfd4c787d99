"""Commands that write files or print information."""
