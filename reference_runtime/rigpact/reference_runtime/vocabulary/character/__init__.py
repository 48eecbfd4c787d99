"""The inputs of a character's motion network: its state, the player's intent, the feet, the bones' rates, past poses."""
