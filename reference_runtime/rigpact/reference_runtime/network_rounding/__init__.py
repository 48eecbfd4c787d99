"""How far rounding moves a network's answer: the model's own operations in float64, with disturbed sums and products."""
