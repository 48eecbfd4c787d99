"""The reference runtimes of the systems, as graphs of named stages; one package per system."""
