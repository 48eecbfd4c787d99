/* A canvas over the time axis. All plots share the gutters, so that one frame stands at one x down the page; the playhead
   lies on a canvas of its own, so that playing redraws nothing else. */

const GUTTER_RIGHT = 80;
const PAPER_WIDTH = "640px"; /* between the margins of A4 and of Letter */

class Plot {
  constructor(host, colours) {
    this.isPrinting = false;
    this.host = host;
    this.colours = colours;
    [this.base, this.overlay] = ["plot-base", "plot-overlay"].map((name) => {
      const canvas = document.createElement("canvas");
      canvas.className = name;
      canvas.setAttribute("aria-hidden", "true");
      host.append(canvas);
      return canvas;
    });
  }

  /* Height in CSS pixels; subclasses override it. */
  get height() {
    return 40;
  }

  layout() {
    this.host.style.width = this.isPrinting ? PAPER_WIDTH : "";
    this.width = this.host.clientWidth;
    this.left = gutterLeft(this.width);
    this.span = Math.max(this.width - this.left - GUTTER_RIGHT, 1);
    this.host.style.height = `${this.height}px`;
  }

  /* A cleared context in CSS pixels. */
  begin(canvas) {
    const ratio = window.devicePixelRatio || 1;
    fitCanvas(canvas, this.width, this.height, ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.textBaseline = "alphabetic";
    return context;
  }

  render(state) {
    if (!this.run || !this.host.clientWidth) return;
    this.layout();
    this.paint(this.begin(this.base), state);
    this.mark(state);
  }

  mark(state) {
    if (!this.run || !this.width) return;
    const context = this.isPrinting ? this.base.getContext("2d") : this.begin(this.overlay);
    const x = this.xOf(state.column);
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 1.5;
    line(context, [x, 0], [x, this.height]);
    this.markMore(context, state, x);
  }

  markMore() {}

  xOf(column) {
    return this.left + ((column + 0.5) / this.run.frameCount) * this.span;
  }

  columnAt(x) {
    const column = Math.floor(((x - this.left) / this.span) * this.run.frameCount);
    return Math.min(Math.max(column, 0), this.run.frameCount - 1);
  }

  label(context, text, y, indent, strong) {
    context.font = strong ? FONT_BOLD : FONT_SMALL;
    context.fillStyle = strong ? this.colours.ink : this.colours.muted;
    context.textAlign = "left";
    context.fillText(cut(context, text, this.left - 10 - indent), indent, y);
  }

  value(context, text, y, strong) {
    context.font = strong ? FONT_BOLD : FONT_SMALL;
    context.fillStyle = strong ? this.colours.ink : this.colours.muted;
    context.textAlign = "right";
    context.fillText(cut(context, text, GUTTER_RIGHT - 6), this.width - 2, y);
  }

  /* Call `act(column, y)` while the pointer is down on the plot, `hover` while it is only over it. A finger acts when it
     is lifted or moved sideways: put down, it may still be about to scroll the page. */
  onPoint(act, hover) {
    const at = (event) => {
      const box = this.overlay.getBoundingClientRect();
      return [this.columnAt(event.clientX - box.left), event.clientY - box.top];
    };
    this.overlay.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.run) return;
      this.overlay.setPointerCapture(event.pointerId);
      this.held = true;
      if (event.pointerType !== "touch") act(...at(event));
    });
    this.overlay.addEventListener("pointermove", (event) => {
      if (this.run) (this.held ? act : hover)(...at(event));
    });
    this.overlay.addEventListener("pointerup", (event) => {
      if (this.held && event.pointerType === "touch") act(...at(event));
    });
    for (const end of ["pointerup", "pointercancel"]) this.overlay.addEventListener(end, () => (this.held = false));
  }
}

function gutterLeft(width) {
  return Math.round(Math.min(Math.max(0.24 * width, 100), 150));
}

/* The largest value over the frames of each pixel, so a peak of one frame is never lost. */
function pooled(values, offset, stride, count, pixels) {
  const out = new Float32Array(pixels);
  for (let x = 0; x < pixels; x += 1) {
    const start = Math.floor((x * count) / pixels);
    const end = Math.max(Math.ceil(((x + 1) * count) / pixels), start + 1);
    let largest = 0;
    for (let column = start; column < end && column < count; column += 1) {
      largest = Math.max(largest, values[offset + stride * column]);
    }
    out[x] = largest;
  }
  return out;
}
