"""What an engine includes or binds: the C++ header of a bundle, its test vectors, the order of inputs that it binds."""
