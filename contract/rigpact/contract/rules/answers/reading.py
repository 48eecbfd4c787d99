"""RP004: one of many files cannot be read. `rigpact check --each` judges the others all the same."""

from rigpact.contract.findings import Rule
from rigpact.contract.rules.family import texts

FILE_NOT_READ = Rule.of("""RP004 error file-not-read
    not judged: {reason}
    hint: export the file again; was the writing interrupted, or is it a pointer of a large-file store?
    why: a file that cannot be read cannot be judged: the engine refuses it, or loads half of it""")
TEXTS = texts(globals())
