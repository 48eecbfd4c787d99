"""Rules about the schema bundle and its companion; view.py is the bundle as they read it."""
