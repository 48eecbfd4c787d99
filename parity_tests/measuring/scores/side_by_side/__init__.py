"""rigpact and two public tools of its kind on the same recordings; see `__main__`."""
