"""From a motion network's answer to a character's pose: denormalise, turn, compose, publish, write back."""
