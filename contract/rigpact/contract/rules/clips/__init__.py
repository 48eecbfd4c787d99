"""Rules about one raw clip."""
