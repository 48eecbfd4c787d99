"""The artefacts of a system: which contract, recording, clip and network a file holds."""
