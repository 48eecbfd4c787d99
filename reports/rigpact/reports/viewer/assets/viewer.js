/* The picture, the plots and their controls, kept in step with one state. */

const THEMES = ["system", "light", "dark"];
const byId = (id) => document.getElementById(id);

class Viewer {
  constructor(data) {
    this.runs = data.runs.map((raw) => withPeaks(toRun(raw, data.scale)));
    this.colours = pageColours();
    this.state = {
      run: 0, column: 0, bone: -1, chosen: -1, metric: "deg", sort: "tree", layout: "overlay", exaggeration: 1, playing: false, follows: true,
      palette: paletteTable(isDark()), calloutText: "",
    };
    this.scene = new Scene(byId("scene"), this.colours);
    this.curve = new Curve(byId("curve"), this.colours);
    this.strips = new Strips(byId("strips"), this.colours);
    this.heat = new Heatmap(byId("heat"), this.colours);
    this.values = new Values(byId("values"), this.colours);
    this.plots = [this.curve, this.strips, this.heat, this.values];
    this.player = new Player((changes) => this.set(changes));
    this.player.at = () => this.state.column;
    connectControls(this);
    connectPointers(this);
    connectKeys(this);
    if (data.opening) this.show(data.opening);
    else this.open(0);
    new ResizeObserver(() => this.redraw()).observe(byId("viewer"));
  }

  get run() {
    return this.runs[this.state.run];
  }

  open(index) {
    this.state.run = index;
    const { run } = this;
    this.player.open(run);
    byId("scrub").max = String(run.frameCount - 1);
    fillBones(byId("bone"), run);
    byId("metric").querySelector("[value=cm]").disabled = run.errors.cm === null;
    byId("to-first").disabled = run.first === null;
    byId("viewer").classList.toggle("boneless", run.boneCount === 0);
    byId("values-card").hidden = run.values === null || run.boneCount > 0;
    byId("values-title").textContent = run.values === null ? "" : `${run.values.stage}, expected and recorded`;
    byId("value-cell").textContent = "Point at a curve.";
    for (const part of document.querySelectorAll("[data-of-run]")) part.hidden = Number(part.dataset.ofRun) !== index;
    for (const axis of document.querySelectorAll("[data-axis]")) fillAxis(axis, run);
    this.plots.forEach((plot) => (plot.run = plot === this.values && run.values === null ? null : run));
    byId("follow-row").hidden = !run.drawn || run.path === null;
    byId("layout").querySelector("[value=reference]").textContent = run.against === "clip" ? "Clip only" : "Reference only";
    if (run.drawn) this.scene.open(run, this.state.follows);
    else this.scene.run = null;
    const metric = run.errors.cm === null ? "deg" : this.state.metric;
    byId("metric").value = metric;
    this.set({ column: run.worstPlace.column, chosen: -1, metric });
    this.redraw();
  }

  /* Open the recording, frame and bone that show a finding. */
  show({ run, frame, bone }) {
    this.open(run);
    if (byId("run")) byId("run").value = String(run);
    this.seek(nearestColumn(this.run.frames, frame), bone);
  }

  /* Change the state, and draw the parts that depend on it. */
  set(changes) {
    const before = { ...this.state };
    Object.assign(this.state, changes);
    const { state, run } = this;
    if (changes.column !== undefined || changes.chosen !== undefined || changes.metric !== undefined) {
      state.bone = state.chosen >= 0 ? state.chosen : run.worstBones[state.column];
      state.calloutText = calloutText(run, state);
      this.tell();
    }
    if (changes.playing !== undefined) {
      byId("play").textContent = state.playing ? "❚❚ Pause" : "▶ Play";
      byId("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
    }
    if (state.follows !== before.follows) {
      byId("follow").checked = state.follows;
      if (this.scene.run) this.scene.fit(state.follows);
    }
    if (state.metric !== before.metric || state.sort !== before.sort || state.palette !== before.palette) this.redraw();
    else this.redrawMarks();
  }

  redrawMarks() {
    this.drawScene();
    this.plots.forEach((plot) => plot.mark(this.state));
  }

  redraw() {
    Object.assign(this.colours, pageColours());
    this.plots.forEach((plot) => plot.render(this.state));
    this.alignScrubber();
    paintLegend(byId("legend"), this.colours, this.state.palette, this.state.metric);
    this.drawScene();
  }

  drawScene() {
    this.scene.draw(this.state);
    const { missing } = this.scene;
    const words = missing ? `${missing} joints are not finite and not drawn.` : "";
    const note = byId("scene-note");
    note.textContent = this.run.drawn ? words : this.run.note;
    note.hidden = !note.textContent;
    note.classList.toggle("whole", !this.run.drawn);
  }

  /* The middle of the scrubber's thumb has the same x as the frame in the plots. */
  alignScrubber() {
    const { left, span } = this.curve;
    if (!span) return;
    const set = (name, value) => byId("scrub").style.setProperty(name, `${value}px`);
    set("--gutter", left);
    for (const axis of document.querySelectorAll("[data-axis]")) axis.style.setProperty("--gutter", `${left}px`);
    set("--half", span / this.run.frameCount / 2);
  }

  /* For print, the playhead is drawn on the plots at the worst frame: a second canvas would print over them. */
  print(isPrinting) {
    const at = isPrinting ? this.run.worstPlace.column : this.beforePrint.column;
    if (isPrinting) {
      this.player.stop();
      this.beforePrint = { ...this.state };
    }
    this.plots.forEach((plot) => (plot.isPrinting = isPrinting));
    this.set({ column: at, chosen: isPrinting ? -1 : this.beforePrint.chosen, palette: paletteTable(isDark()) });
  }

  retheme() {
    this.set({ palette: paletteTable(isDark()) });
  }

  seek(column, bone) {
    this.player.stop();
    const chosen = bone === undefined ? this.state.chosen : bone;
    byId("bone").value = String(chosen);
    this.set({ column: Math.min(Math.max(column, 0), this.run.frameCount - 1), chosen });
    /* the scrubber announces its own value */
    if (document.activeElement !== byId("scrub")) byId("announce").textContent = byId("cell").textContent;
  }

  /* Words and figures of the present frame. */
  tell() {
    const { run, state } = this;
    const frame = run.frames[state.column];
    byId("scrub").value = String(state.column);
    byId("scrub").setAttribute("aria-valuetext", `frame ${frame}, ${state.calloutText}`);
    byId("clock-frame").textContent = String(frame);
    byId("clock-rest").textContent = ` of ${run.frames[run.frameCount - 1]} · ${(frame / run.fps).toFixed(2)} s`;
    byId("scene").setAttribute("aria-label", `Both skeletons in 3D, frame ${frame}; ${state.calloutText}`);
    byId("cell").textContent = cellText(run, state.column, state.bone);
    byId("stage-cell").textContent = stagesText(run, state.column);
    fillWorst(byId("bones"), run, state, (bone) => this.seek(this.state.column, bone));
  }
}

/* The largest error of each frame, and its bone: the summary of the run. */
function withPeaks(run) {
  run.worst = {};
  for (const metric of ["deg", "cm"]) {
    const values = run.errors[metric];
    if (values === null) continue;
    run.worst[metric] = new Float32Array(run.frameCount);
    for (let i = 0; i < values.length; i += 1) {
      const column = Math.floor(i / run.boneCount);
      run.worst[metric][column] = Math.max(run.worst[metric][column], values[i]);
    }
  }
  run.worstBones = Array.from({ length: run.frameCount }, (_, column) => ranked(run, column, "deg")[0] ?? -1);
  const sizes = run.boneCount ? run.worst.deg : largestRatios(run);
  const peak = sizes.reduce((best, value, column, all) => (value > all[best] ? column : best), 0);
  run.worstPlace = { column: peak, bone: run.worstBones[peak] };
  return run;
}

/* Without bones, the stages give the summary of the run. */
function largestRatios(run) {
  return Float32Array.from({ length: run.frameCount }, (_, column) => Math.max(0, ...run.stageRatios.map((ratios) => ratios[column])));
}

function ranked(run, column, metric) {
  const values = run.errors[metric];
  const at = column * run.boneCount;
  return run.bones.map((_, bone) => bone).sort((a, b) => values[at + b] - values[at + a] || a - b);
}

function errorsAt(run, column, bone) {
  const at = column * run.boneCount + bone;
  const deg = `${shown(run.errors.deg[at])}°`;
  return run.errors.cm === null ? deg : `${deg}, ${shown(run.errors.cm[at])} cm`;
}

function calloutText(run, { column, bone }) {
  if (bone < 0) return stagesText(run, column);
  const name = run.bones[bone];
  return `${name.length > 40 ? `${name.slice(0, 39)}…` : name} ${errorsAt(run, column, bone)}`;
}

function cellText(run, column, bone) {
  if (bone < 0) return stagesText(run, column);
  const frame = run.frames[column];
  return `${run.bones[bone]} · frame ${frame} (${(frame / run.fps).toFixed(2)} s) · ${errorsAt(run, column, bone)}`;
}

/* Which stages are beyond their tolerance in a frame. */
function stagesText(run, column) {
  const over = run.stages.filter((_, stage) => run.stageRatios[stage][column] > 1).map(({ name }) => name);
  return `frame ${run.frames[column]} · ${over.length ? `beyond: ${over.join(", ")}` : "every stage within its tolerance"}`;
}

function fillBones(select, run) {
  while (select.options.length > 1) select.remove(1);
  run.bones.forEach((name, bone) => select.append(new Option(name, String(bone))));
}

const WORST_SHOWN = 6;
const METRICS = ["deg", "cm"];

function fillWorst(body, run, state, choose) {
  const bones = ranked(run, state.column, state.metric).slice(0, WORST_SHOWN);
  while (body.rows.length < bones.length) body.append(worstRow(choose));
  while (body.rows.length > bones.length) body.deleteRow(-1);
  const largest = run.errors[state.metric][state.column * run.boneCount + bones[0]];
  bones.forEach((bone, i) => {
    const row = body.rows[i];
    const value = run.errors[state.metric][state.column * run.boneCount + bone];
    const button = row.querySelector("button");
    button.dataset.bone = String(bone);
    button.textContent = run.bones[bone];
    button.setAttribute("aria-pressed", String(bone === state.chosen));
    row.classList.toggle("chosen", bone === state.bone);
    const part = largest > 0 ? (Number.isFinite(largest) ? value / largest : Number(!Number.isFinite(value))) : 0;
    row.querySelector(".bar").style.width = `${Math.round(100 * part)}%`;
    METRICS.forEach((metric, column) => {
      const values = run.errors[metric];
      const text = values === null ? "" : `${shown(values[state.column * run.boneCount + bone])}${unitOf(metric)}`;
      row.cells[column + 1].textContent = text;
    });
  });
}

function worstRow(choose) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const [button, bar] = [document.createElement("button"), document.createElement("span")];
  button.type = "button";
  button.className = "bone-name";
  button.addEventListener("click", () => choose(Number(button.dataset.bone)));
  bar.className = "bar";
  head.append(button, bar);
  row.append(head);
  for (const metric of METRICS) {
    const cell = document.createElement("td");
    cell.className = `number ${metric}`;
    row.append(cell);
  }
  return row;
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

/* The time axis under a plot: the numbers and times of its first and last frame. */
function fillAxis(axis, run) {
  const end = (column) => `frame ${run.frames[column]} · ${(run.frames[column] / run.fps).toFixed(2)} s`;
  const ends = [end(0), end(run.frameCount - 1)].map((text) => {
    const span = document.createElement("span");
    span.textContent = text;
    return span;
  });
  axis.replaceChildren(...ends);
}
