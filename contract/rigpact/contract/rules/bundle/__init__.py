"""Rules about the schema bundle and its companion."""
