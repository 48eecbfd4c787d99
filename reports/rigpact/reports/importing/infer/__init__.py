"""How a recorded vector is made of other recorded vectors: its history, its terms, their scales, offsets and orders."""
