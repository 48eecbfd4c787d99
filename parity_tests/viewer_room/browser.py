"""A headless Chromium for the tests: opens pages, and reports errors, requests and pixels."""

from __future__ import annotations

import base64
import json
import time
from contextlib import contextmanager
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from ..programs import path_of

PATIENCE_S = 10.0
ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--app=about:blank",
)  # fmt: skip


def programs():
    """Paths of Chromium and of its driver; None if not installed."""
    return path_of("chromium"), path_of("chromedriver")


@contextmanager
def started(profile):
    """A browser with an empty profile; closed afterwards."""
    chromium, driver = programs()
    assert chromium is not None
    options = ChromeOptions()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options=options, service=Service(driver))  # with both paths given, selenium downloads nothing
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()


class Browser:
    """The browser functions for the tests."""

    def __init__(self, chrome):
        self.chrome = chrome

    def command(self, name, **values):
        """Call the DevTools protocol."""
        return self.chrome.execute_cdp_cmd(name, values)

    def open(self, path, *, width=1280, height=900, scheme="light", motion="no-preference"):
        """Open a page with a window size and user preferences; earlier log entries are dropped."""
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.command("Emulation.setEmulatedMedia", media="", features=features)
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.errors(), self.requests()
        self.chrome.get(path.as_uri())

    def errors(self):
        """The page's console messages since the last call."""
        return [entry["message"] for entry in self.chrome.get_log("browser")]

    def requests(self):
        """Every address that the page requested since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.chrome.get_log("performance")]
        sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def run(self, script, *values):
        """The value of a script's `return`."""
        return self.chrome.execute_script(script, *values)

    def state(self):
        """The viewer's present state."""
        state: dict[str, Any] = self.run("return window.rigpactReport.state()")
        return state

    def until(self, is_so):
        """Wait for a condition; AssertionError if it does not become true."""
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.02)

    def find(self, selector):
        """The element."""
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        """The text of an element as it can be seen."""
        return str(self.find(selector).text)

    def choose(self, selector, value):
        """Choose an option of a list."""
        Select(self.find(selector)).select_by_value(value)

    def press(self, selector, *keys, held=""):
        """Focus an element without a click and press keys, while another is held down if one is given."""
        self.run("document.querySelector(arguments[0]).focus()", selector)
        actions = ActionChains(self.chrome)
        if held:
            actions.key_down(held)
        for key in keys:
            actions.send_keys(key)
        if held:
            actions.key_up(held)
        actions.perform()

    def click_at(self, selector, x, y):
        """Click at CSS pixels from an element's upper left corner."""
        self.drag(selector, [(x, y)])

    def drag(self, selector, points):
        """Press the mouse at the first point of an element, move over the others, let go."""
        places = [self.place(selector, x, y) for x, y in points]
        held = {"button": "left", "clickCount": 1}
        self.command("Input.dispatchMouseEvent", type="mouseMoved", **places[0])
        self.command("Input.dispatchMouseEvent", type="mousePressed", **places[0], **held)
        for place in places[1:]:
            self.command("Input.dispatchMouseEvent", type="mouseMoved", buttons=1, **place, button="left")
        self.command("Input.dispatchMouseEvent", type="mouseReleased", **places[-1], **held)

    def place(self, selector, x, y):
        """Where a point of an element lies in the window, once the element is in its middle."""
        script = (
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top]"
        )
        left, top = self.run(script, selector)
        return {"x": left + x, "y": top + y}

    def picture(self, *, whole=True):
        """A PNG of the page."""
        size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        wanted = {"captureBeyondViewport": True, "clip": clip} if whole else {}
        return base64.b64decode(self.command("Page.captureScreenshot", **wanted)["data"])

    def picture_of(self, selector, kind, quality, *, tallest):
        """A picture of one element, or of its upper part, as `webp` or `jpeg`."""
        script = (
            "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
            "const height = Math.min(b.height + 16, arguments[1]);"
            "return {x: b.x - 8, y: b.y + scrollY - 8, width: b.width + 16, height, scale: 1}"
        )
        wanted = {
            "format": kind, "quality": quality, "captureBeyondViewport": True,
            "clip": self.run(script, selector, tallest),
        }  # fmt: skip
        return base64.b64decode(self.command("Page.captureScreenshot", **wanted)["data"])

    def paper(self):
        """A PDF of the page."""
        return base64.b64decode(self.command("Page.printToPDF", printBackground=True)["data"])
