"""Rules about teacher batches and predictions, and about files that belong together."""
