"""Declared contracts run in C++: the plan of one, and its agreement with numpy before it is used."""
