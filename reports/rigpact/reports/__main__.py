"""`python -m rigpact.reports`: the command line where no script is on the path."""

from rigpact.reports.command_line import main

if __name__ == "__main__":  # the processes of a sweep import this module again under another name
    main()
