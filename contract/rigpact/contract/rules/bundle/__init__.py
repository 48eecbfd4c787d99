"""Rules about the schema bundle and its companion; view.py and auxiliary.py are the files as they read them."""
