/* The two skeletons. The reference is a pale, wide body; the engine narrow, strong bones inside it. Where they part, one
   sees both; where they agree, the bones lie in the body. Nothing is told by colour alone. */

const LEAF_M = 0.04;
const HEAD_RADIUS_M = 0.085;
const WHISKER_M = 0.004; /* no line to the reference for joints nearer than this */

class Scene {
  constructor(canvas, colours) {
    this.canvas = canvas;
    this.camera = new Camera();
    this.colours = colours;
  }

  open(run, follows) {
    this.run = run;
    this.segments = segmentsOf(run);
    this.fit(follows);
  }

  /* Both sides: in place, or where the root is in the world. */
  posesAt(column, exaggeration, follows) {
    const poses = posesAt(this.run, column, exaggeration);
    return follows || !this.run.path ? poses : poses.map((positions) => travelled(positions, this.run.path[column]));
  }

  /* Fit the camera to the whole motion. */
  fit(follows) {
    const { run } = this;
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    const step = Math.max(1, Math.floor(run.frameCount / 40));
    for (let column = 0; column < run.frameCount; column += step) {
      for (const positions of this.posesAt(column, 1, follows)) {
        positions.forEach((value, i) => {
          if (Number.isFinite(value)) {
            low[i % 3] = Math.min(low[i % 3], value);
            high[i % 3] = Math.max(high[i % 3], value);
          }
        });
      }
    }
    this.ground = Number.isFinite(low[2]) ? low[2] : 0;
    if (Number.isFinite(low[0])) this.camera.frame(low, [high[0], high[1], high[2] + 0.1]);
  }

  draw(state) {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!this.run || !width || !height) return;
    fitCanvas(this.canvas, width, height, ratio);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.camera.aim(width, height);
    const [reference, engine] = this.posesAt(state.column, state.exaggeration, state.follows);
    this.follows = state.follows || !this.run.path;
    const beside = state.layout === "beside" ? 0.62 * this.camera.reach : 0;
    const [a, b] = [this.place(reference, -beside), this.place(engine, beside)];
    context.lineCap = "round";
    context.lineJoin = "round";
    this.drawGround(context, [reference, engine], beside);
    if (state.layout !== "engine") this.drawBody(context, a);
    if (state.layout !== "reference") this.drawBones(context, b, state.bone);
    if (state.layout === "overlay") this.drawWhiskers(context, reference, engine, a, b);
    this.drawCallout(context, state, state.layout === "reference" ? a : b, width, height);
    this.missing = countMissing(engine) + countMissing(reference);
  }

  /* Project every joint, moved sideways on the screen by `aside` metres. */
  place(positions, aside) {
    const [rx, ry, rz] = this.camera.right;
    const points = [];
    for (let i = 0; i < positions.length; i += 3) {
      points.push(
        this.camera.project(positions[i] + aside * rx, positions[i + 1] + aside * ry, positions[i + 2] + aside * rz),
      );
    }
    return points;
  }

  drawGround(context, poses, beside) {
    const { camera, ground } = this;
    const [cx, cy] = [Math.round(camera.target[0] * 2) / 2, Math.round(camera.target[1] * 2) / 2];
    const half = Math.max(1.5, Math.ceil(camera.reach));
    const step = half > 4 ? half / 16 : 0.25; /* a long way gets no more lines than a short one */
    context.lineWidth = 1;
    for (let i = -half; i <= half + 1e-6; i += step) {
      context.strokeStyle = this.colours.grid;
      context.globalAlpha = Math.abs(i % (2 * step)) < 1e-6 ? 1 : 0.45;
      line(context, camera.project(cx + i, cy - half, ground), camera.project(cx + i, cy + half, ground));
      line(context, camera.project(cx - half, cy + i, ground), camera.project(cx + half, cy + i, ground));
    }
    context.globalAlpha = 1;
    this.drawForward(context, cx, cy);
    poses.forEach((positions, side) => this.drawShadow(context, positions, side ? beside : -beside));
  }

  drawForward(context, cx, cy) {
    const { camera, ground } = this;
    const half = 0.5;
    const tip = camera.project(cx + half + 0.12, cy, ground);
    context.fillStyle = this.colours.muted;
    polygon(context, [tip, camera.project(cx + half, cy - 0.06, ground), camera.project(cx + half, cy + 0.06, ground)]);
    context.fill();
    context.font = FONT_SMALL;
    context.textAlign = "center";
    const label = camera.project(cx + half + 0.25, cy, ground);
    context.fillText(this.follows ? "forward" : "x of the world", label[0], label[1] + 4);
  }

  drawShadow(context, positions, aside) {
    const flat = Float64Array.from(positions, (value, i) => (i % 3 === 2 && Number.isFinite(value) ? this.ground : value));
    const points = this.place(flat, aside);
    context.strokeStyle = this.colours.shadow;
    for (const { from, to, width } of this.segments) {
      if (to < 0 || !isKnown(points[from]) || !isKnown(points[to])) continue;
      context.lineWidth = Math.max(2.2 * width * this.camera.scaleAt(points[to][2]), 1);
      line(context, points[from], points[to]);
    }
  }

  /* One silhouette: all outlines first, then all fills. */
  drawBody(context, points) {
    for (const [colour, extra] of [[this.colours.bodyEdge, 2], [this.colours.body, 0]]) {
      context.strokeStyle = colour;
      context.fillStyle = colour;
      for (const segment of this.segments) {
        const { from, to, width, head } = segment;
        const start = points[from];
        const end = to < 0 ? start : points[to];
        if (!isKnown(start) || !isKnown(end)) continue;
        const scale = this.camera.scaleAt(end[2]);
        context.lineWidth = Math.max(2 * width * scale, 5) + extra;
        line(context, start, end);
        if (head) disc(context, this.headAt(points, segment), HEAD_RADIUS_M * scale + extra / 2);
      }
    }
  }

  headAt(points, { from, parent }) {
    const [head, neck] = [points[from], points[parent] || points[from]];
    const length = Math.hypot(head[0] - neck[0], head[1] - neck[1]) || 1;
    const rise = (HEAD_RADIUS_M * 0.75 * this.camera.scaleAt(head[2])) / length;
    return [head[0] + (head[0] - neck[0]) * rise, head[1] + (head[1] - neck[1]) * rise];
  }

  drawBones(context, points, marked) {
    const { colours } = this;
    const drawable = this.segments.filter(({ from, to }) => isKnown(points[from]) && (to < 0 || isKnown(points[to])));
    drawable.sort((a, b) => points[b.from][2] - points[a.from][2]);
    for (const segment of drawable) {
      const { from, to, width, head } = segment;
      const scale = this.camera.scaleAt(points[from][2]);
      context.fillStyle = from === marked ? colours.marked : colours.engine;
      context.strokeStyle = colours.engineEdge;
      context.lineWidth = 1;
      if (head) {
        context.strokeStyle = context.fillStyle;
        context.lineWidth = 2;
        circle(context, this.headAt(points, segment), HEAD_RADIUS_M * scale * 0.8);
      } else if (to >= 0) {
        polygon(context, boneShape(points[from], points[to], Math.max(width * scale * 0.62, 2)));
        context.fill();
        context.stroke();
      }
      disc(context, points[from], Math.max(width * scale * 0.42, 1.8));
    }
  }

  drawWhiskers(context, reference, engine, a, b) {
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 1;
    context.setLineDash([2, 3]);
    for (let bone = 0; bone < a.length; bone += 1) {
      const gap = Math.hypot(...[0, 1, 2].map((axis) => reference[3 * bone + axis] - engine[3 * bone + axis]));
      if (gap > WHISKER_M) line(context, a[bone], b[bone]);
    }
    context.setLineDash([]);
  }

  drawCallout(context, { bone, calloutText }, points, width, height) {
    const at = points[bone];
    if (bone < 0 || !at || !isKnown(at)) return;
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 2;
    circle(context, at, 11);
    context.font = FONT_BOLD;
    const wide = context.measureText(calloutText).width + 16;
    const toRight = at[0] < width / 2;
    const x = Math.min(Math.max(toRight ? at[0] + 30 : at[0] - 30 - wide, 6), Math.max(width - wide - 6, 6));
    const y = Math.min(Math.max(at[1] - 34, 6), height - 30);
    line(context, [at[0] + (toRight ? 8 : -8), at[1] - 8], [toRight ? x : x + wide, y + 12]);
    context.fillStyle = this.colours.surface;
    rounded(context, x, y, wide, 24, 6);
    context.fill();
    context.stroke();
    context.fillStyle = this.colours.ink;
    context.textAlign = "left";
    context.fillText(calloutText, x + 8, y + 16);
  }
}

/* Lines from each joint to its children; joints without a child get a dot. Widths grow with the length, in metres. */
function segmentsOf(run) {
  const segments = [];
  const hasChild = new Set(run.parents);
  for (let bone = 0; bone < run.boneCount; bone += 1) {
    const parent = run.parents[bone];
    const length = Math.hypot(...[0, 1, 2].map((axis) => run.offsets[3 * bone + axis]));
    if (parent >= 0) segments.push({ from: parent, to: bone, width: widthOf(length), parent: run.parents[parent] });
    if (!hasChild.has(bone)) {
      const head = parent >= 0 && /head/i.test(run.bones[bone]);
      segments.push({ from: bone, to: -1, width: head ? LEAF_M : Math.min(widthOf(length), 0.02), parent, head });
    }
  }
  return segments;
}

function widthOf(length) {
  return Math.min(Math.max(0.16 * length, 0.008), 0.042);
}

/* A long diamond, widest near its root. */
function boneShape(start, end, width) {
  const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
  const length = Math.hypot(dx, dy) || 1;
  const [nx, ny] = [(-dy / length) * width, (dx / length) * width];
  const [mx, my] = [start[0] + 0.16 * dx, start[1] + 0.16 * dy];
  return [start, [mx + nx, my + ny], end, [mx - nx, my - ny]];
}

function countMissing(positions) {
  let missing = 0;
  for (let i = 0; i < positions.length; i += 3) if (!Number.isFinite(positions[i])) missing += 1;
  return missing;
}
