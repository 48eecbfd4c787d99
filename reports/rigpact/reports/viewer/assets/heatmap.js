/* Error of every bone at every frame. Lightness carries the size; each row's largest value stands beside it in figures,
   and a diamond marks where it occurs. */

const HEAT_ROW = 14;
const HEAT_TOP = 4;
const HOT = 1; /* degree or centimetre: visible without a search */

class Heatmap extends Plot {
  get height() {
    return HEAT_TOP + HEAT_ROW * this.run.boneCount + 4;
  }

  /* Bones from top to bottom, and the largest error of each. */
  arrange(state) {
    const { run } = this;
    this.values = run.errors[state.metric];
    this.peaks = Array.from({ length: run.boneCount }, (_, bone) => peakOf(this.values, bone, run));
    const byTree = run.drawn ? run.order : run.bones.map((_, bone) => bone);
    const byError = byTree.slice().sort((a, b) => this.peaks[b].value - this.peaks[a].value);
    this.rows = state.sort === "error" ? byError : byTree;
    this.rowOf = new Array(run.boneCount);
    this.rows.forEach((bone, row) => (this.rowOf[bone] = row));
  }

  paint(context, state) {
    this.arrange(state);
    const { run, left, span } = this;
    const ratio = window.devicePixelRatio || 1;
    const pixels = Math.max(Math.round(span * ratio), 1);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image(pixels, state.palette), left, HEAT_TOP, span, HEAT_ROW * run.boneCount);
    context.strokeStyle = this.colours.line;
    context.lineWidth = 1;
    context.strokeRect(left - 0.5, HEAT_TOP - 0.5, span + 1, HEAT_ROW * run.boneCount + 1);
    this.rows.forEach((bone, row) => this.paintText(context, bone, row, state));
  }

  image(pixels, palette) {
    const { run } = this;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [pixels, run.boneCount];
    const context = canvas.getContext("2d");
    const image = context.createImageData(pixels, run.boneCount);
    this.rows.forEach((bone, row) => {
      pooled(this.values, bone, run.boneCount, run.frameCount, pixels).forEach((value, x) => {
        const heat = heatOf(value);
        const at = 4 * (row * pixels + x);
        if (heat < 0) return;
        const colour = 3 * Math.round(heat * (PALETTE_STEPS - 1));
        image.data.set(palette.subarray(colour, colour + 3), at);
        image.data[at + 3] = 255;
      });
    });
    context.putImageData(image, 0, 0);
    return canvas;
  }

  paintText(context, bone, row, state) {
    const y = HEAT_TOP + HEAT_ROW * row + 11;
    const peak = this.peaks[bone];
    const isHot = peak.value >= HOT;
    const indent = state.sort === "error" || this.left < 120 ? 0 : Math.min(4 * this.run.depths[bone], 32);
    this.label(context, this.run.bones[bone], y, indent, isHot);
    this.value(context, peak.value > 0 ? `${shown(peak.value)}${unitOf(state.metric)}` : "0", y, isHot);
    if (!(heatOf(peak.value) >= 0)) return;
    const [x, middle] = [this.xOf(peak.column), HEAT_TOP + HEAT_ROW * (row + 0.5)];
    polygon(context, [[x, middle - 4], [x + 4, middle], [x, middle + 4], [x - 4, middle]]);
    context.fillStyle = this.colours.surface;
    context.fill();
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 1;
    context.stroke();
  }

  markMore(context, { column, bone }, x) {
    if (bone < 0 || !this.rowOf) return;
    const y = HEAT_TOP + HEAT_ROW * this.rowOf[bone];
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 1;
    context.strokeRect(this.left - 0.5, y - 0.5, this.span + 1, HEAT_ROW + 1);
    const half = Math.max(this.span / this.run.frameCount / 2, 3);
    context.lineWidth = 2;
    context.strokeRect(x - half, y - 1, 2 * half, HEAT_ROW + 2);
    context.fillStyle = this.colours.ink;
    polygon(context, [[this.left - 8, y + 3], [this.left - 2, y + 7], [this.left - 8, y + 11]]);
    context.fill();
  }

  boneAt(y) {
    const row = Math.floor((y - HEAT_TOP) / HEAT_ROW);
    return this.rows[Math.min(Math.max(row, 0), this.rows.length - 1)];
  }

  /* The bone `steps` rows below another. */
  boneBelow(bone, steps) {
    const row = bone < 0 ? 0 : this.rowOf[bone] + steps;
    return this.rows[Math.min(Math.max(row, 0), this.rows.length - 1)];
  }
}

function peakOf(values, bone, run) {
  let peak = { value: 0, column: 0 };
  for (let column = 0; column < run.frameCount; column += 1) {
    const value = values[column * run.boneCount + bone];
    if (value > peak.value) peak = { value, column };
  }
  return peak;
}

/* The scale beneath the map: steps with figures. */
function paintLegend(canvas, colours, palette, metric) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, 30];
  fitCanvas(canvas, width, height, ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const [left, span] = [1, width - 2];
  for (let x = 0; x < span; x += 1) {
    const colour = 3 * Math.round((x / span) * (PALETTE_STEPS - 1));
    context.fillStyle = `rgb(${palette[colour]}, ${palette[colour + 1]}, ${palette[colour + 2]})`;
    context.fillRect(left + x, 0, Math.min(2, span - x), 12); /* overlapping: no seams on paper */
  }
  context.font = FONT_SMALL;
  context.fillStyle = colours.muted;
  context.strokeStyle = colours.muted;
  context.textAlign = "center";
  for (let decade = HEAT_LOW; decade <= HEAT_HIGH; decade += 1) {
    const x = left + span * heatOf(10 ** decade);
    line(context, [x, 12], [x, 16]);
    const text = String(Number((10 ** decade).toPrecision(1)));
    context.textAlign = decade === HEAT_LOW ? "left" : decade === HEAT_HIGH ? "right" : "center";
    context.fillText(`${text}${unitOf(metric)}${decade === HEAT_HIGH ? " and more" : ""}`, Math.min(x, width), 27);
  }
}
