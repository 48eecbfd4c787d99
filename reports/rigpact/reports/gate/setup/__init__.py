"""Find a project's files and write its settings, for `rigpact init`."""
