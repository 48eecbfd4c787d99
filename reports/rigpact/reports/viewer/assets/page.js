/* The page: theme, filter, print, and the viewer if there is a run to show. */

function connectTheme(changed) {
  const root = document.documentElement;
  const button = byId("theme");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(root.dataset.theme || "system") + 1) % THEMES.length];
    root.dataset.theme = next;
    const words = { system: "as the system", light: "light", dark: "dark" }[next];
    byId("theme-word").textContent = next[0].toUpperCase() + next.slice(1);
    button.setAttribute("aria-label", `Colour theme: ${words}`);
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

function connectFilter() {
  const form = byId("filter");
  if (!form) return;
  const causes = [...document.querySelectorAll(".finding")].map((item) => [item, item.textContent.toLowerCase()]);
  const apply = () => {
    const words = byId("query").value.toLowerCase().split(/\s+/).filter(Boolean);
    const severities = new Set([...form.querySelectorAll("[name=severity]:checked")].map((box) => box.value));
    for (const [item, text] of causes) item.hidden = !(severities.has(item.dataset.severity) && words.every((word) => text.includes(word)));
    const count = causes.filter(([item]) => !item.hidden).length;
    byId("shown").textContent = `${count} of ${causes.length} shown`;
    byId("nothing").hidden = count > 0;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
}

function connectFindings(viewer) {
  for (const button of document.querySelectorAll(".show")) {
    const { frame, bone, run } = button.dataset;
    button.addEventListener("click", () => {
      viewer.show({ run: Number(run), frame: Number(frame), bone: Number(bone) });
      const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
      byId("viewer").scrollIntoView({ behavior });
      byId(viewer.run.boneCount ? "scene" : viewer.run.values ? "values" : "strips").focus({ preventScroll: true });
    });
  }
}

/* A printed page is always light, and shows the worst frame. */
function connectPrint(viewer) {
  const root = document.documentElement;
  let theme;
  const folded = [...document.querySelectorAll("details.more:not([open])")];
  addEventListener("beforeprint", () => {
    for (const each of folded) each.open = true;
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    viewer.print(true);
  });
  addEventListener("afterprint", () => {
    for (const each of folded) each.open = false;
    if (theme === undefined) delete root.dataset.theme;
    else root.dataset.theme = theme;
    viewer.print(false);
  });
}

/* Read-only access for tests; the page does not depend on it. */
function hookOf(viewer) {
  return Object.freeze({
    travelled: (run, side, column) => [...travelled(posesAt(viewer.runs[run], column, 1)[side === "reference" ? 0 : 1], viewer.runs[run].path[column])],
    positions: (run, side, column) => [...posesAt(viewer.runs[run], column, 1)[side === "reference" ? 0 : 1]],
    errors: (run, metric) => [...viewer.runs[run].errors[metric]],
    stageRatios: (run, stage) => [...viewer.runs[run].stageRatios[stage]],
    state: () => ({ ...viewer.state, palette: undefined, frame: viewer.run.frames[viewer.state.column] }),
    place: (column, bone) => [viewer.heat.xOf(column), HEAT_TOP + HEAT_ROW * (viewer.heat.rowOf[bone] + 0.5)],
    camera: () => ({ yaw: viewer.scene.camera.yaw, pitch: viewer.scene.camera.pitch, zoom: viewer.scene.camera.zoom }),
    palette: (dark) => [...paletteTable(dark)],
  });
}

function start() {
  const data = JSON.parse(byId("data").textContent);
  document.documentElement.classList.add("scripted");
  connectFilter();
  if (!data.runs.length) {
    connectTheme(() => {});
    return;
  }
  const viewer = new Viewer(data);
  connectTheme(() => viewer.retheme());
  connectFindings(viewer);
  connectPrint(viewer);
  window.rigpactReport = hookOf(viewer);
}

start();
