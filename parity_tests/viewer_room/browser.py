"""A headless Chromium for the tests: opens pages, and reports errors, requests and pixels."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
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


def programs() -> tuple[str | None, str | None]:
    """Paths of Chromium and of its driver; None if not installed."""
    return path_of("chromium"), path_of("chromedriver")


@contextmanager
def started(profile: Path) -> Iterator[Browser]:
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

    def __init__(self, chrome: Chrome) -> None:
        self.chrome = chrome

    def command(self, name: str, **values: Any) -> Any:
        """Call the DevTools protocol."""
        return self.chrome.execute_cdp_cmd(name, values)

    def open(
        self, path: Path, *, width: int = 1280, height: int = 900, scheme: str = "light", motion: str = "no-preference"
    ) -> None:
        """Open a page with a window size and user preferences; earlier log entries are dropped."""
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.command("Emulation.setEmulatedMedia", media="", features=features)
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.errors(), self.requests()
        self.chrome.get(path.as_uri())

    def errors(self) -> list[str]:
        """The page's console messages since the last call."""
        return [entry["message"] for entry in self.chrome.get_log("browser")]

    def requests(self) -> list[str]:
        """Every address that the page requested since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.chrome.get_log("performance")]
        sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def run(self, script: str, *values: Any) -> Any:
        """The value of a script's `return`."""
        return self.chrome.execute_script(script, *values)

    def state(self) -> dict[str, Any]:
        """The viewer's present state."""
        state: dict[str, Any] = self.run("return window.rigpactReport.state()")
        return state

    def until(self, is_so: Callable[[], object]) -> None:
        """Wait for a condition; AssertionError if it does not become true."""
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.02)

    def find(self, selector: str) -> Any:
        """The element."""
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """The text of an element as it can be seen."""
        return str(self.find(selector).text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list."""
        Select(self.find(selector)).select_by_value(value)

    def press(self, selector: str, *keys: str, held: str = "") -> None:
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

    def press_tab(self) -> None:
        """Go on to the next control."""
        ActionChains(self.chrome).send_keys("\ue004").perform()

    def click_at(self, selector: str, x: float, y: float) -> None:
        """Click at CSS pixels from an element's upper left corner."""
        self.drag(selector, [(x, y)])

    def drag(self, selector: str, points: Sequence[tuple[float, float]]) -> None:
        """Press the mouse at the first point of an element, move over the others, let go."""
        places = [self.place(selector, x, y) for x, y in points]
        held = {"button": "left", "clickCount": 1}
        self.command("Input.dispatchMouseEvent", type="mouseMoved", **places[0])
        self.command("Input.dispatchMouseEvent", type="mousePressed", **places[0], **held)
        for place in places[1:]:
            self.command("Input.dispatchMouseEvent", type="mouseMoved", buttons=1, **place, button="left")
        self.command("Input.dispatchMouseEvent", type="mouseReleased", **places[-1], **held)

    def place(self, selector: str, x: float, y: float) -> dict[str, float]:
        """Where a point of an element lies in the window, once the element is in its middle."""
        script = (
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top]"
        )
        left, top = self.run(script, selector)
        return {"x": left + x, "y": top + y}

    def tap(self, selector: str, x: float, y: float) -> None:
        """Touch a point of an element for a moment."""
        place = self.place(selector, x, y)
        self.command("Input.dispatchTouchEvent", type="touchStart", touchPoints=[place])
        self.command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def wheel(self, selector: str, delta: float) -> None:
        """Turn the wheel over the middle of an element."""
        script = (
            "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2]"
        )
        x, y = self.run(script, selector)
        self.command("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)

    def picture(self, *, whole: bool = True) -> bytes:
        """A PNG of the page."""
        size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        wanted = {"captureBeyondViewport": True, "clip": clip} if whole else {}
        return base64.b64decode(self.command("Page.captureScreenshot", **wanted)["data"])

    def picture_of(self, selector: str, kind: str, quality: int, *, tallest: int) -> bytes:
        """A picture of one element, or of its upper part, as `webp` or `jpeg`."""
        script = (
            "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
            "const height = Math.min(b.height + 16, arguments[1]);"
            "return {x: b.x - 8, y: b.y + scrollY - 8, width: b.width + 16, height, scale: 1}"
        )
        wanted = {
            "format": kind,
            "quality": quality,
            "captureBeyondViewport": True,
            "clip": self.run(script, selector, tallest),
        }
        return base64.b64decode(self.command("Page.captureScreenshot", **wanted)["data"])

    def paper(self) -> bytes:
        """A PDF of the page."""
        return base64.b64decode(self.command("Page.printToPDF", printBackground=True)["data"])
