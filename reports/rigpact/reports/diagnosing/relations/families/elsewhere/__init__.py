"""Numbers of other channels, parts or vectors that stand where they should not, unchanged."""
