"""`python -m rigpact.reports`: the command line where no script is on the path."""

import os
import sys

if sys.path[:1] == [os.getcwd()] and not sys.flags.safe_path:  # noqa: PTH109 - pathlib itself could be shadowed
    del sys.path[0]  # put there by `-m`: a numpy.py of the folder that is judged would be run in place of numpy

from rigpact.reports.command_line import main

if __name__ == "__main__":  # the processes of a sweep import this module again under another name
    main()
