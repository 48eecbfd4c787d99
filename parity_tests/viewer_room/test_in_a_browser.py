"""The page in a real browser: what people see, click and press, and attacks that must fail."""

from dataclasses import replace

import numpy as np
import pytest

from rigpact.reports.gate.report import GateReport, Part

from .drawn import HOSTILE, WRONG_BONE, WRONG_CM, WRONG_COLUMN, WRONG_DEG, drawn_gate
from .oracle import joint_positions

COLUMNS = 40
FRAMES = [100 + column + (column >= 10) for column in range(COLUMNS)]
HOOK = "return window.rigpactReport."
REST_SKELETON_M = 0.3 * 3**0.5 * 12
"""No chain of the drawn skeleton is longer than this."""


def pixels(browser, selector):
    """A canvas as (height, width, 4) in CSS pixels of a screen with one device pixel each."""
    script = (
        "const c = document.querySelector(arguments[0]);"
        "return [c.width, c.height, [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]]"
    )
    width, height, values = browser.run(script, selector)
    return np.array(values, np.uint8).reshape(height, width, 4)


def test_it_opens_without_a_word_and_asks_for_nothing(opened, page):
    """A page that loads from the network cannot be attached to a bug."""
    assert opened.errors() == []
    assert opened.requests() == [page.as_uri()]
    assert opened.text("h1") == "Fail"
    assert opened.state()["column"] == WRONG_COLUMN, "it starts at the worst frame"
    assert opened.picture()[:4] == b"\x89PNG"
    assert (pixels(opened, "#scene")[..., 3] > 0).mean() > 0.03, "the picture is not empty"
    opened.press("#scene", "\ue011")
    opened.find(".show").click()
    state = opened.state()
    assert (state["column"], state["chosen"]) == (WRONG_COLUMN, WRONG_BONE), (
        "from the words to the picture in one click"
    )


def test_the_skeletons_stand_where_the_rotations_put_them(opened, drawn):
    """Wrong forward kinematics in the viewer show a false defect, or hide a real one."""
    # 15 bits a component: each off by up to 2.2e-5, a rotation by up to 2·√3·2.2e-5 rad; it adds up along the chain
    tolerance = REST_SKELETON_M * 12 * 2 * 3**0.5 * 2.2e-5
    for side, name in enumerate(("reference", "engine")):
        for column in (0, WRONG_COLUMN, COLUMNS - 1):
            shown = np.array(opened.run(f"{HOOK}positions(0, arguments[0], arguments[1])", name, column)).reshape(-1, 3)
            expected = joint_positions(drawn.parents, drawn.offsets, drawn.rotations[side][column])
            np.testing.assert_allclose(shown, expected, atol=tolerance)


def test_the_root_walks_unless_it_is_followed(browser, show, drawn):
    """In place, one does not see where a character slides; walking, one does not see its hands."""
    path = np.array([[0.1 * column, -0.05 * column, 0.01, 0.07 * column] for column in range(COLUMNS)])
    show(drawn.changed(path=path).run)
    column = COLUMNS - 1
    x, y, z, heading = path[column]
    turned = np.array(joint_positions(drawn.parents, drawn.offsets, drawn.rotations[1][column])) @ [
        [np.cos(heading), np.sin(heading), 0.0], [-np.sin(heading), np.cos(heading), 0.0], [0.0, 0.0, 1.0],
    ]  # fmt: skip
    shown = np.array(browser.run(f"{HOOK}travelled(0, 'engine', {column})")).reshape(-1, 3)
    np.testing.assert_allclose(
        shown, turned + np.array([x, y, z]), atol=REST_SKELETON_M * 12 * 2 * 3**0.5 * 2.2e-5 + 1e-4
    )
    browser.press("#follow", " ")
    assert browser.state()["follows"] is False


def test_the_errors_are_those_that_were_measured(browser, show, drawn):
    """The figures on the page are quoted in bug reports."""
    chance = np.random.default_rng(3)
    deg, cm = 10.0 ** chance.uniform(-5.9, 2.2, (2, COLUMNS, 12))
    ratios = 10.0 ** chance.uniform(-5.9, 11.9, COLUMNS)
    deg[3, 4], deg[5, 6] = 0.0, np.inf
    run = drawn.changed(deg=deg, cm=cm, stages=[("y_out", "")], ratios=ratios[None]).run
    show(run)
    half_a_step = 10 ** (18 / 65533 / 2) - 1
    for metric, values in (("deg", deg), ("cm", cm)):
        shown = browser.run(f"{HOOK}errors(0, arguments[0]).map(String)", metric)
        np.testing.assert_allclose(
            [float(text.replace("Infinity", "inf")) for text in shown], values.ravel(), rtol=1.01 * half_a_step
        )
    shown = browser.run(f"{HOOK}stageRatios(0, 0)")
    np.testing.assert_allclose(shown, ratios, rtol=1.01 * half_a_step)


def test_a_click_on_the_hot_cell_leads_there(opened, drawn):
    """The one wrong cell is found by its colour and clicked: the viewer must say which bone and frame that is."""
    opened.press("#scrub", "\ue011")  # Home
    assert opened.state()["column"] == 0
    canvas = pixels(opened, "#heat .plot-base").astype(int)
    blank = canvas[..., 3] == 0
    colourful = ~blank & (canvas[..., :3].max(axis=-1) - canvas[..., :3].min(axis=-1) > 45)
    rows, columns = np.nonzero(colourful)
    opened.click_at("#heat", float(np.median(columns)), float(np.median(rows)))
    state = opened.state()
    assert (state["column"], state["bone"]) == (WRONG_COLUMN, WRONG_BONE)
    assert (
        opened.text("#cell")
        == f"bone_7 · frame {drawn.run.frames[WRONG_COLUMN]} (4.07 s) · {WRONG_DEG:g}°, {WRONG_CM} cm"
    )


SAMPLES = """
const [milliseconds, done] = arguments;
const samples = [];
const sample = (now) => {
  samples.push([now, window.rigpactReport.state().frame]);
  if (now < samples[0][0] + milliseconds) requestAnimationFrame(sample);
  else done(samples);
};
requestAnimationFrame(sample);
"""


def test_keys_do_what_they_say(opened):
    """Animators step through frames with the keys."""
    left, right, home, end, up, down, shift = "\ue012", "\ue014", "\ue011", "\ue010", "\ue013", "\ue015", "\ue008"
    opened.press("#scene", home)
    assert opened.state()["column"] == 0
    opened.press("#scene", right, right, right, left)
    assert opened.state()["column"] == 2
    opened.press("#scene", right, held=shift)
    assert opened.state()["column"] == 12
    opened.press("#scene", end)
    assert opened.state()["column"] == COLUMNS - 1
    opened.press("#scrub", home, right)
    assert opened.state()["column"] == 1, "the scrubber steps once, not twice"
    opened.press("#scene", " ")
    assert opened.state()["playing"]
    opened.press("#scrub", " ")
    assert not opened.state()["playing"]
    opened.press("#heat", home, down)
    below = opened.state()["bone"]
    opened.press("#heat", down)
    assert opened.state()["bone"] != below
    opened.press("#heat", up)
    assert opened.state()["bone"] == below
    opened.find("#more-title").click()
    opened.press("#query", "b", " ", "c")
    assert not opened.state()["playing"], "typing is not steering"


def test_the_mouse_moves_what_it_touches(opened, drawn):
    """In the first view, one foot may cover the other. This recording's frames start at 100, and 110 is not there."""
    before = opened.run(f"{HOOK}camera()")
    opened.drag("#scene", [(200, 200), (260, 210), (300, 220)])
    turned = opened.run(f"{HOOK}camera()")
    assert (turned["yaw"], turned["pitch"]) != (before["yaw"], before["pitch"])
    opened.find("[data-view=side]").click()
    assert opened.run(f"{HOOK}camera()")["zoom"] == 1
    move = "const s = document.querySelector('#scrub'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))"
    opened.run(move, 12)
    assert opened.text("#clock-frame") == str(drawn.run.frames[12]) == "113"
    assert opened.state()["column"] == 12
    shown = pixels(opened, "#scene")
    opened.run(move, WRONG_COLUMN)
    assert opened.text("#bones tr:first-child").split()[:2] == ["bone_7", "5°"]
    assert (pixels(opened, "#scene") != shown).any()


def test_a_name_stays_text_and_no_script_of_others_runs(opened):
    """The names of the first bone and of a path are attacks; the policy must stop them even if the escaping fails."""
    opened.choose("#bone", "0")
    assert opened.text("#cell").startswith(HOSTILE)
    opened.choose("#sort", "error")
    opened.choose("#metric", "cm")
    assert opened.run("return document.images.length") == 0
    assert opened.run("return window.pwned") is None
    opened.find("#first-cause .evidence summary").click()
    assert HOSTILE in opened.text("#first-cause")
    opened.run("document.body.insertAdjacentHTML('beforeend', arguments[0])", HOSTILE)
    opened.run("const s = document.createElement('script'); s.text = 'window.pwned = 2'; document.body.append(s)")
    opened.until(lambda: any("Content Security Policy" in message for message in opened.errors()))
    assert opened.run("return window.pwned") is None, "the policy stops what the escaping would let through"


@pytest.mark.parametrize(
    ("changes", "place", "says"),
    [
        ({"parents": None, "offsets_m": None, "cm": None}, "#scene-note", "no skeleton to draw"),
        ({"parents": [1, 2, 0, *range(9)]}, "main", "no skeleton"), ({"bone_names": ()}, "main", "bone 7"),
    ],
    ids=["no skeleton", "parents in a circle", "no names"],
)  # fmt: skip
def test_a_skeleton_that_is_none_stops_nothing(browser, show, drawn, changes, place, says):
    """Many bundles name no rest offsets, or something else. The errors are shown all the same."""
    show(drawn.changed(**changes).run)
    assert browser.state()["column"] == WRONG_COLUMN
    assert says in browser.text(place)
    show(gate=GateReport((), {}, {"engine-trace": "none configured"}))
    assert "none configured" in browser.text(".absent"), "the gate of a bundle alone has no trace to draw"


def test_a_pose_that_is_not_finite_is_said_and_survived(browser, show, drawn):
    """A run with a NaN is the one that users want to see."""
    engine = drawn.run.engine.copy()
    engine[5:, 3] = np.nan
    deg = drawn.run.deg.copy()
    deg[5:, 3] = np.nan
    show(drawn.changed(engine=engine, deg=deg).run)
    browser.find("#to-worst").click()
    assert browser.state()["column"] == 5
    assert "not finite" in browser.text("#bones")
    assert browser.run("return document.querySelector('.bar').style.width") == "100%"
    assert "not drawn" in browser.text("#scene-note")


def test_a_run_without_bones_shows_its_stages_and_no_player(browser, show, drawn):
    """A system without a skeleton has nothing to play; its page must show the stages, without errors or empty boxes."""
    none, no_poses = np.zeros((COLUMNS, 0)), np.zeros((COLUMNS, 0, 3, 3))
    run = drawn.changed(
        bone_names=(), parents=None, offsets_m=None, reference=no_poses, engine=no_poses, deg=none, cm=None
    ).run
    show(run)
    assert browser.state()["column"] == WRONG_COLUMN, "it starts at the worst frame of its stages"
    shown = "return document.querySelector(arguments[0]).getClientRects().length > 0"
    assert [browser.run(shown, part) for part in ("#strips", "#player", "#curve", "#heat")] == [
        True, False, False, False,
    ]  # fmt: skip
    assert "beyond: y_out" in browser.text("#stage-cell")
    browser.press("#strips", "\ue014")  # the right arrow
    assert browser.state()["column"] == WRONG_COLUMN + 1
    assert browser.errors() == []


def test_it_plays_in_the_recordings_own_time(opened):
    """A jump of a bone does not show at the wrong speed; a recording of 30 frames per second must not run at 60."""
    opened.press("#scene", "\ue011")
    opened.choose("#speed", "0.5")
    opened.find("#play").click()
    assert opened.text("#play") == "❚❚ Pause"
    samples = opened.chrome.execute_async_script(SAMPLES, 500)
    length = int(FRAMES[-1] - FRAMES[0]) + 1
    passed = [(frame - samples[0][1]) % length for _, frame in samples]
    for (now, _), frames in zip(samples, passed, strict=True):
        expected = (now - samples[0][0]) / 1000 * 30.0 * 0.5
        assert abs(frames - expected) < 2.1, "a frame is a whole number at both ends, and one number is missing"
    opened.find("#play").click()
    rested = opened.state()
    assert opened.chrome.execute_async_script(SAMPLES, 150)[-1][1] == rested["frame"]
    assert not rested["playing"]


def test_several_recordings_share_the_viewer(browser, show, drawn):
    """A gate replays more than one clip."""
    other = drawn.changed(name="run", fps=60.0)
    show(drawn.run, other.run)
    assert browser.text("#cell").endswith("(4.07 s) · 5°, 3.25 cm")
    browser.choose("#run", "1")
    assert browser.state()["run"] == 1
    assert browser.text("#cell").endswith("(2.03 s) · 5°, 3.25 cm")
    browser.find(".show").click()
    assert browser.state()["run"] == 0, "the finding belongs to the recording named walk"
    assert browser.errors() == []


def test_recordings_of_one_name_keep_to_their_parts(browser, show, drawn):
    """A teacher's prediction and an engine's trace of the clip `walk` are both called walk."""
    gate = drawn_gate(drawn)
    engine, check, _ = gate.parts
    findings = tuple(replace(each) for each in engine.report.findings)
    teacher = Part("teacher-parity/walk", "Teacher's walk", replace(engine.report, findings=findings), run=drawn.run)
    show(gate=replace(gate, parts=(teacher, check, engine)))
    options = browser.run("return [...document.querySelector('#run').options].map((option) => option.textContent)")
    assert options == ["Teacher's walk", "Engine trace: walk"]
    assert browser.run("return [...document.querySelectorAll('.step + p .show')].map((b) => b.dataset.run)") == [
        "0",
        "1",
    ]
