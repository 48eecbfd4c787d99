"""Readable without colour vision, in the dark, on paper, without a mouse and without scripts."""

import re

import pytest

from .drawn import WRONG_COLUMN
from .oracle import as_deuteranope, contrast, luminance

READABLE = 4.5
"""Contrast of text. Source: WCAG 2.2, 1.4.3."""
VISIBLE = 3.0
"""Contrast of graphics. Source: WCAG 2.2, 1.4.11."""
TEXTS = """
const solid = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!/rgba\\(.*, 0\\)/.test(colour)) return colour;
  }
  return 'rgb(255, 255, 255)';
};
return [...document.querySelectorAll('h1,h2,h3,p,li,td,th,dt,dd,label,button,summary,code,.badge,.seal,a')]
  .filter((element) => element.checkVisibility() && element.textContent.trim() && !element.disabled)
  .map((element) => [element.className || element.tagName, getComputedStyle(element).color, solid(element)]);
"""


def rgb(text):
    """Numbers of a CSS colour."""
    if text.startswith("#"):
        return [int(text[at : at + 2], 16) for at in (1, 3, 5)]
    return [float(number) for number in re.findall(r"[\d.]+", text)[:3]]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_every_text_and_bone_stands_out_in_its_window(browser, page, scheme, width):
    """Low contrast is not readable on many screens, and a report that scrolls sideways not on a phone."""
    browser.open(page, width=width, scheme=scheme)
    assert browser.run("return [document.documentElement.scrollWidth, innerWidth]") == [width, width]
    texts = browser.run(TEXTS)
    assert len(texts) > 60
    weak = {
        (name, colour, ground, round(contrast(rgb(colour), rgb(ground)), 2))
        for name, colour, ground in texts
        if contrast(rgb(colour), rgb(ground)) < READABLE
    }
    assert weak == set()
    read = "const s = getComputedStyle(document.documentElement); return arguments[0].map((n) => s.getPropertyValue(n))"
    names = ("--engine", "--body", "--body-edge", "--surface", "--over")
    engine, body, edge, surface, over = (rgb(colour.strip()) for colour in browser.run(read, names))
    assert min(contrast(engine, body), contrast(edge, surface), contrast(over, surface)) > VISIBLE


@pytest.mark.parametrize("dark", [False, True])
def test_more_error_is_always_farther_from_the_page(opened, dark):
    """A palette without even lightness hides a defect from colour-blind people, one man in twelve."""
    flat = opened.run("return window.rigpactReport.palette(arguments[0])", dark)
    colours = [flat[at : at + 3] for at in range(0, len(flat), 3)]
    for seen in (colours, [as_deuteranope(*colour) for colour in colours]):
        lightness = [luminance(*colour) ** (1 / 3) * (1 if dark else -1) for colour in seen]
        steps = [after - before for before, after in zip(lightness[:-8], lightness[8:], strict=True)]
        assert min(steps) > 0
        assert max(steps) < 4 * sum(steps) / len(steps), "no step may look like an edge"


def test_every_control_has_a_name_and_shows_the_focus(opened):
    """Blind users hear the names; users without a mouse need the focus."""
    script = (
        "return [...document.querySelectorAll('button, select, input, [tabindex]')].filter((e) => !e.getAttribute('aria-label')"
        " && !e.getAttribute('aria-labelledby') && !(e.labels && e.labels.length) && !e.textContent.trim())"
        ".map((e) => e.id || e.outerHTML)"
    )
    assert opened.run(script) == []
    outline = "const s = getComputedStyle(document.activeElement); return [s.outlineStyle, parseFloat(s.outlineWidth)]"
    opened.find("#more-title").click()
    for selector in ("#scene", "#scrub", "#play", "#heat", "#query"):
        opened.press(selector, "\ue008")  # Shift alone: the focus came by keyboard
        style, width = opened.run(outline)
        assert style == "solid", selector
        assert width >= 2, selector


def test_on_paper_it_is_light_and_shows_the_worst_frame(browser, page):
    """A printed page cannot play, so it must show the worst frame."""
    browser.open(page, scheme="dark")
    assert browser.paper()[:5] == b"%PDF-"
    assert browser.run("return document.documentElement.dataset.theme") is None, "the screen keeps its theme"
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.command("Emulation.setEmulatedMedia", media="print")
    shown = "return [...document.querySelectorAll(arguments[0])].map((e) => e.checkVisibility())"
    assert browser.run(shown, "#scene") == [True]
    assert not any(browser.run(shown, "#curve, #filter, #theme, .plot-overlay"))
    assert set(browser.run(shown, ".finding .title")) == {True}
    assert browser.state()["column"] == WRONG_COLUMN
    assert contrast(rgb(browser.run("return getComputedStyle(document.body).color")), (255, 255, 255)) > READABLE


def test_without_scripts_the_words_remain(browser, page):
    """Some mail programs and artefact viewers run none."""
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        assert browser.find("#first-title").is_displayed()
        browser.find("#more-title").click()
        assert browser.find(".finding .step").is_displayed()
        assert not browser.find("#play").is_displayed()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
