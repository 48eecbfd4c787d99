"""The artefacts of a system: reads contracts, recordings, clips and networks from files."""
