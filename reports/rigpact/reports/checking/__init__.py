"""`rigpact check`: files judged by the rules, with the account of what could be judged."""
