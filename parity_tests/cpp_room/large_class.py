"""An anim instance of the size of a real one, and the lines that record and self-test it.

The loop is that of engine_loop.cpp, which shares no code with rigpact. Around it stands what such classes have besides: states,
transitions, curves, debug text. `integrated` adds LINES, and nothing else.
"""

# ruff: noqa: E501 - lines of C++ stand as they are inserted
from ..measuring.scores.engine.engine_side import SOURCE

BEGIN = "class EnemyAnim {"
LINES = (
    ('#include "contract.hpp"', "namespace {", False),
    ('#include "RigpactTrace.h"', "namespace {", False),
    ("    FRigpactTrace Trace;", "  private:\n    int history_length()", False),
    ('        Trace.Configure(this, rigpact_contract::TraceHeaderOf("MyGame", "5.4", "free"));', "        seed_history();\n    }\n", False),
    ('        Trace.BeginFrame(tick_, tick_ / 60.0, teacher_ ? "teacher" : "free");', "        const int cursor = cursor_of(tick_);", True),
    ('        if (Trace.Given("x_raw", x_raw_)) seed_history();', "        if (teacher_) x_raw_ = clip_state(cursor);", True),
    ('        Trace.Given("cond_raw", row);', 's.of("clip/velocity")[2 * frame + 1]));', True),
    ('        Trace.Given("contacts", row);', "            row[foot] = touching_[foot] ? 1.f : 0.f;\n        }", True),
    ('        Trace.Given("y_norm", row);', 'throw std::runtime_error("the network failed");', True),
    ('        Trace.Stage("x_raw", stage["x_raw"]).Stage("state", stage["state"]).Stage("cond_raw", stage["cond_raw"]);', "        outputs();", False),
    ('        Trace.Stage("cond", stage["cond"]).Stage("contacts", stage["contacts"]).Stage("angvel", stage["angvel"]);', "        outputs();", False),
    ('        Trace.Stage("pose_hist_raw", stage["pose_hist_raw"]).Stage("pose_hist", stage["pose_hist"]).Stage("y_norm", stage["y_norm"]);', "        outputs();", False),
    ('        Trace.Stage("y_raw", stage["y_raw"]).Stage("delta6d", stage["delta6d"]).Stage("next6d", stage["next6d"]);', "        ++tick_;", False),
    ('        Trace.Stage("y_out", stage["y_out"]).Stage("quat", stage["quat"]).Stage("x_raw_next", stage["x_raw_next"]).EndFrame();', "        ++tick_;", False),
    ("    auto SelfTest(const rigpact::EngineFiles& Files) { return rigpact_contract::SelfTestEngine(Files, Trace, [&](auto&) { step(); }); }", "    std::map<std::string, Row> stage;", False),
)  # fmt: skip
"""A line, the text of the class beside it, and whether it comes after it."""

_STATE = """
    // --- state {n}: how the character moves between its ways of walking ---
    struct State{n} {{
        double weight = 0.0, elapsed = 0.0, speed = {speed};
        bool is_active = false;
    }};
    State{n} state{n}_;
    void enter_state{n}(double speed) {{
        if (state{n}_.is_active) return;
        state{n}_.is_active = true;
        state{n}_.elapsed = 0.0;
        state{n}_.speed = speed;
    }}
    void leave_state{n}() {{
        state{n}_.is_active = false;
        state{n}_.weight = 0.0;
    }}
    double blend_state{n}(double dt) {{
        const double target = state{n}_.is_active ? 1.0 : 0.0;
        const double rate = state{n}_.is_active ? {rate} : 0.25;
        state{n}_.elapsed += dt;
        state{n}_.weight += (target - state{n}_.weight) * std::min(1.0, rate * dt);
        if (state{n}_.weight < 1e-4 && !state{n}_.is_active) leave_state{n}();
        return state{n}_.weight * state{n}_.speed;
    }}
    std::string describe_state{n}() const {{
        std::string text = "state {n}: ";
        text += state{n}_.is_active ? "active" : "idle";
        text += ", weight " + std::to_string(state{n}_.weight);
        text += ", elapsed " + std::to_string(state{n}_.elapsed);
        return text;
    }}
"""
STATES = 85
_POOL = """
    // Back from the pool: as the level left it.
    void restart(int life) {
        x_raw_ = clip_state(0);
        x_raw_[1] = static_cast<float>(life);
        for (int i = 0; i < rotations_.size; ++i) previous_out_[i] = i % 6 == 0 || i % 6 == 5 ? 1.f : 0.f;
        seed_history();
        tick_ = 0;
    }

"""


def large_class() -> str:
    """The class before anybody recorded it."""
    source = SOURCE.read_text(encoding="utf-8")
    source = source[: source.index("}  // namespace\n\nextern")] + "}  // namespace\n"
    source = source.replace('#include "rigpact/trace.hpp"  // +\n', "")
    states = "".join(_STATE.format(n=n, speed=0.5 + n / 8, rate=2.0 + n / 4) for n in range(STATES))
    blend = "".join(f"        sum += blend_state{n}(dt);\n" for n in range(STATES))
    states += f"    double blend(double dt) {{\n        double sum = 0.0;\n{blend}        return sum;\n    }}\n"
    base = "class EnemyAnim : public UAnimInstance {"
    source = source.replace(BEGIN, base).replace(
        "        : s(std::move(schema)),", "        : UAnimInstance(name, outer), s(std::move(schema)),"
    )
    source = source.replace(
        "EnemyAnim(Schema schema, Network network, unsigned long long defects, bool teacher)",
        "EnemyAnim(const TCHAR* name, UObject* outer, Schema schema, Network network, unsigned long long defects, bool teacher)",
    )
    source = source.replace("    std::map<std::string, Row> stage;", f"{_POOL}    std::map<std::string, Row> stage;")
    place = source.index("    bool has(Defect defect) const")
    return '#include "Animation/AnimInstance.h"\n' + source[:place] + states + source[place:]


def integrated(text: str) -> str:
    """The class with LINES."""
    for line, beside, is_after in LINES:
        assert text.count(beside) == 1, (line, beside)
        text = text.replace(beside, f"{beside}\n{line}" if is_after else f"{line}\n{beside}")
    return text
