"""What the engines of the other systems do, as graphs of named stages; one package a system."""
