"""Rules about the text and the shape of every JSON file."""
