"""`rigpact check`: judge files by the rules, and count what could be judged."""
