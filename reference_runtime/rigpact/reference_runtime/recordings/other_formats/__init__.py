"""Recordings in formats that need a library or a reader of their own: bags of messages, stores of arrays, animations."""
