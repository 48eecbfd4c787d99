"""Contracts that are drawn, run by another interpreter with mistakes in them, and what is answered; see `__main__`."""
