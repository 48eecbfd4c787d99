"""`python -m rigpact.reports`: the command line where no script is on the path."""

from rigpact.reports.command_line import main

main()
