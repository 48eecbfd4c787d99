/* User input: controls, pointers, keys. */

function connectControls(viewer) {
  const on = (id, kind, act) => byId(id).addEventListener(kind, (event) => act(event.target));
  on("scrub", "input", ({ value }) => viewer.seek(Number(value)));
  on("play", "click", () => viewer.player.toggle());
  on("first", "click", () => viewer.seek(0));
  on("last", "click", () => viewer.seek(viewer.run.frameCount - 1));
  on("back", "click", () => viewer.seek(viewer.state.column - 1));
  on("forward", "click", () => viewer.seek(viewer.state.column + 1));
  on("to-first", "click", () => viewer.seek(viewer.run.first.column, viewer.run.first.bone));
  on("to-worst", "click", () => viewer.seek(viewer.run.worstPlace.column, -1));
  on("layout", "change", ({ value }) => viewer.set({ layout: value }));
  on("follow", "change", ({ checked }) => viewer.set({ follows: checked }));
  on("exaggeration", "change", ({ value }) => viewer.set({ exaggeration: Number(value) }));
  on("bone", "change", ({ value }) => viewer.seek(viewer.state.column, Number(value)));
  on("metric", "change", ({ value }) => viewer.set({ metric: value }));
  on("sort", "change", ({ value }) => viewer.set({ sort: value }));
  on("speed", "change", ({ value }) => {
    viewer.player.speed = Number(value);
    viewer.player.restart();
  });
  if (byId("run")) on("run", "change", ({ value }) => viewer.open(Number(value)));
  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => {
      viewer.scene.camera.view(button.dataset.view);
      viewer.redrawMarks();
    });
  }
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(viewer, Number(button.dataset.zoom)));
  }
}

function zoom(viewer, factor) {
  viewer.scene.camera.magnify(factor);
  viewer.redrawMarks();
}

function connectPointers(viewer) {
  viewer.heat.onPoint(
    (column, y) => viewer.seek(column, viewer.heat.boneAt(y)),
    (column, y) => (byId("cell").textContent = cellText(viewer.run, column, viewer.heat.boneAt(y))),
  );
  viewer.heat.overlay.addEventListener("pointerleave", () => viewer.tell());
  viewer.curve.onPoint((column) => viewer.seek(column), () => {});
  const sayStage = (column, y) => (byId("stage-cell").textContent = viewer.strips.textAt(column, y));
  viewer.strips.onPoint((column, y) => {
    viewer.seek(column);
    sayStage(column, y);
  }, sayStage);
  viewer.strips.overlay.addEventListener("pointerleave", () => viewer.tell());
  const sayValue = (column, y) => (byId("value-cell").textContent = viewer.values.textAt(column, y));
  viewer.values.onPoint((column, y) => {
    viewer.seek(column);
    sayValue(column, y);
  }, sayValue);
  connectCamera(viewer, byId("scene"));
}

/* One pointer turns, two pinch. The wheel zooms only if the picture has the focus, so the page can scroll past it. */
function connectCamera(viewer, canvas) {
  const { camera } = viewer.scene;
  const held = new Map();
  const spread = () => {
    const [a, b] = [...held.values()];
    return Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, [event.clientX, event.clientY]);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return;
    const [x, y] = held.get(event.pointerId);
    const before = held.size === 2 ? spread() : 0;
    held.set(event.pointerId, [event.clientX, event.clientY]);
    if (held.size === 2) camera.magnify(spread() / before);
    else camera.orbit((event.clientX - x) * 0.01, (event.clientY - y) * 0.01);
    viewer.redrawMarks();
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => held.delete(event.pointerId));
  canvas.addEventListener("dblclick", () => {
    camera.view("corner");
    viewer.redrawMarks();
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      zoom(viewer, Math.exp(-event.deltaY * 0.0015));
    },
    { passive: false },
  );
}

const TIME_KEYS = {
  ArrowLeft: (viewer, event) => viewer.seek(viewer.state.column - (event.shiftKey ? 10 : 1)),
  ArrowRight: (viewer, event) => viewer.seek(viewer.state.column + (event.shiftKey ? 10 : 1)),
  Home: (viewer) => viewer.seek(0),
  End: (viewer) => viewer.seek(viewer.run.frameCount - 1),
  " ": (viewer) => viewer.player.toggle(),
  "+": (viewer) => zoom(viewer, 1.25),
  "=": (viewer) => zoom(viewer, 1.25),
  "-": (viewer) => zoom(viewer, 0.8),
  f: (viewer) => byId("follow-row").hidden || viewer.set({ follows: !viewer.state.follows }),
};

/* Keys work while the focus is in the player or a plot, not elsewhere. Buttons and lists keep their own keys. */
function connectKeys(viewer) {
  byId("viewer").addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select, summary")) return;
    if (event.key === " " && event.target.closest("button, [type=checkbox]")) return;
    const act = TIME_KEYS[event.key] || boneKey(event, viewer);
    if (!act) return;
    event.preventDefault();
    act(viewer, event);
  });
}

function boneKey(event, viewer) {
  const steps = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (steps === undefined || event.target !== viewer.heat.host) return null;
  return () => viewer.seek(viewer.state.column, viewer.heat.boneBelow(viewer.state.bone, steps));
}
