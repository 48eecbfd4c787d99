"""Rules about one raw clip; clip_features.py turns a clip into what they judge."""
