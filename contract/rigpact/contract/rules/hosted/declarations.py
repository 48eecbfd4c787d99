"""RP740 to RP749, RP772: what is wrong in your own contract (rigpact-contract), and what it leaves open.

The mistakes are found by `rigpact.contract.declared`, which builds the system; here each becomes a finding.
"""

from collections.abc import Iterator, Mapping

from rigpact.contract.declared.reading import declaration_of
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import Misdeclared, Wrong
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.files.structure import has_its_shape
from rigpact.contract.rules.views.bundle import need
from rigpact.contract.rules.views.system_files import SystemFiles

_TEXTS = {
    Wrong.UNKNOWN_WORD: """RP740 error declared-word-unknown
    hint: correct the word; `rigpact show` lists the operations and their parameters
    why: a word that names nothing is a parameter, a joint or a stage that nobody reads""",
    Wrong.MISSING: """RP741 error declared-part-missing
    hint: say it: a contract that leaves it out can be read in several ways
    why: the stage cannot be computed without it""",
    Wrong.OUT_OF_ORDER: """RP742 error declared-stage-out-of-order
    hint: move the stage, or take the value of the frame before
    why: within a frame a stage can use only the stages before it""",
    Wrong.WIDTH: """RP743 error declared-vector-width-differs
    hint: count the numbers on both sides; a joint or a term is missing, or one too many
    why: a runtime that goes on with it reads beyond its data, or pads with zeros""",
    Wrong.NUMBERS: """RP744 error declared-numbers-wrong
    hint: write numbers, without quotation marks
    why: nothing can be computed with it""",
    Wrong.SOURCE: """RP745 error declared-source-not-read
    hint: name a file in the contract's folder, and with `at` the place inside it
    why: the numbers that both sides share are not known""",
    Wrong.CHOICE: """RP746 error declared-choice-unknown
    hint: take one of the words that the operation knows
    why: no runtime knows what to do under it""",
    Wrong.NAMED_TWICE: """RP747 error declared-name-repeated
    hint: rename one of the two
    why: code that looks a name up gets one of them""",
    Wrong.KIND: """RP748 error declared-kind-unfit
    hint: declare the kind of the numbers: kind = "quaternion_wxyz", "rot6d", …
    why: an operation on rotations needs to know which numbers are one""",
}
_MESSAGE = "\n    found {found}, expected {expected}{advice}\n"
_RULES: Mapping[Wrong, Rule] = {
    kind: Rule.of(text.replace("\n", f" refused{_MESSAGE}", 1)) for kind, text in _TEXTS.items()
}
LEFT_OPEN = Rule.of("""RP749 warning declared-convention-open
    {knob} is not declared; {assumed} is assumed, it may be {others}
    hint: ask the side that trained the network, and write the word here
    why: both sides compute something sensible, and not the same""")
VECTOR_OPEN = Rule.of("""RP772 warning declared-vector-open
    {what}
    hint: write it, then take it out of `left_open`; a vector that comes from outside as it is needs no stages
    why: the file says what the network is given, and not what it is: nobody can compare what the two sides make of it""")


def _check_declaration(files: SystemFiles) -> Iterator[Finding]:
    document = need(files.document)
    need(document, when=document.kind is Kind.DECLARATION and has_its_shape(document))
    declaration = declaration_of(document)
    yield from (_finding(document, problem) for problem in declaration.problems)
    for choice in declaration.left_open:
        if not choice.values:
            yield VECTOR_OPEN.at(document.path, choice.pointer, what=_open_words(choice.knob))
            continue
        assumed, *others = choice.values
        yield LEFT_OPEN.at(document.path, choice.pointer, knob=choice.knob, assumed=assumed, others=" or ".join(others))


FAMILY = family(globals(), (Need.DECLARATION,), _check_declaration)


def _open_words(knob: str) -> str:
    vector, key = knob.rsplit(".", 1)
    return f"nothing computes {vector}" if key == "operation" else f"the {key} of {vector} is not declared"


def _finding(document: Document, problem: Misdeclared) -> Finding:
    advice = f"; {problem.hint}" if problem.hint else ""
    return _RULES[problem.kind].at(
        document.path, problem.pointer, found=problem.found, expected=problem.expected, advice=advice
    )
