"""Gate reports for the tests of the renderers, and text that is meant to break out of them."""

from html.parser import HTMLParser

from rigpact.contract.findings import FindingsReport, Ledger, Rule, Severity
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.reports.gate.report import GateReport, Part

HOSTILE = (
    "\x1b[31mred\x1b[0m", "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07", "\r\n::error::owned", "\n::stop-commands::x",
    "]]>", "<script>alert(1)</script>", "&lt;b&gt;&#64;", "%0A::add-mask::x", "%25", "a|b", "`code`", "``` x", "@octocat",
    "@org/team", "#1", "GH-1", "[x](javascript:alert(1))", "[a]: http://evil.example", "<http://evil.example>",
    "\x00", "\x08", "\ufffe", "\uffff", "\ud800", "\udc80", "\u202eevil", "\u2028", "💥", "http://evil.example/x",
    "www.example.com", "me@example.com", "![](http://evil.example/x.png)", "| --- | --- |", "</details>", "<!--", "{0}",
    "$(rm -rf ~)", "C:\\x\\u0041", "title=x,file=y::z", "a:b,c", "**bold** _it_ ~~no~~", "[red]markup[/red]", ":smile:",
    "$x^2$", "\\", "'", '"', "\t", "é", "x" * 5000,
)  # fmt: skip
RULES = {
    severity: Rule(
        code=f"RP99{number}", name=f"made-up-{severity.value}", severity=severity, message="{text}",
        hint="do {{what}} is right", why="a reason",
    )
    for number, severity in enumerate(Severity)
}  # fmt: skip


class Page(HTMLParser):
    """The tags in order, attributes and text of a page."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def finding(text, file="bundle.json", pointer="", severity=Severity.ERROR):
    """A finding whose message is `text`."""
    return RULES[severity].at(file, pointer, text=text)


def part(*findings, name="check", title="Files", ledger=None, is_waived=False, **summary):
    """A part in which ten of ten were judged, if nothing else is said."""
    return Part(name, title, FindingsReport(findings, ledger or Ledger(10, 10), summary), is_waived)


def gate(*parts, not_asked=None, strict=False):
    """A gate of these parts."""
    return GateReport(
        parts, {"bundle.json": "0" * 64, "rigpact": "1.2.3"}, not_asked or {}, ("repair the bundle", "run again"),
        strict,
    )  # fmt: skip


def unjudged_part():
    """A part that was asked and has no answer."""
    return part(name="engine-trace/walk", title="Engine trace of walk", ledger=Ledger(10, 0))


def hostile_gate():
    """Every hostile text in every place that a user's file can reach."""
    severities = list(Severity)
    found = [
        finding(text, f"clips/{text}.json", f"/a/{text}", severities[index % 3]) for index, text in enumerate(HOSTILE)
    ]
    summary = {
        "stages": [{"stage": text, "ok": index % 2 == 0} for index, text in enumerate(HOSTILE)],
        "waived": {text: text for text in HOSTILE},
        "configuration": {
            "waived": [
                dict.fromkeys(("code", "file", "pointer", "owner", "reason", "expires"), text) for text in HOSTILE
            ],
            "lowered": [
                dict.fromkeys(("to", "owner", "reason", "expires"), text) | {"code": rule.code}
                for text, rule in zip(HOSTILE, ALL_RULES, strict=False)
            ],
        },
    }
    parts = [part(*found, **summary), *(part(name=text, title=text) for text in HOSTILE)]
    named = {text: text for text in HOSTILE}
    return GateReport(tuple(parts), named, named, HOSTILE[:3])
