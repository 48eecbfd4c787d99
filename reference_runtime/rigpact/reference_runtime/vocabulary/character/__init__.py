"""What a motion network is given of a character: its state, the player's intent, the feet, the bones' rates, past poses."""
