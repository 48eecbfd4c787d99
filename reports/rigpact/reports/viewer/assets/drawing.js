/* Helpers for all canvases. */

const FONT_SMALL = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const FONT_BOLD = "600 12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

function fitCanvas(canvas, width, height, ratio) {
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
}

function isKnown(point) {
  return Number.isFinite(point[0]) && Number.isFinite(point[1]);
}

function line(context, from, to) {
  context.beginPath();
  context.moveTo(from[0], from[1]);
  context.lineTo(to[0], to[1]);
  context.stroke();
}

function polygon(context, points) {
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
}

function disc(context, [x, y], radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function circle(context, [x, y], radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

function rounded(context, x, y, width, height, radius) {
  context.beginPath();
  context.moveTo(x + radius, y);
  context.arcTo(x + width, y, x + width, y + height, radius);
  context.arcTo(x + width, y + height, x, y + height, radius);
  context.arcTo(x, y + height, x, y, radius);
  context.arcTo(x, y, x + width, y, radius);
  context.closePath();
}

/* The text; if too wide, its middle is cut out, because names differ at their ends. */
function cut(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text].slice(0, 400);
  for (let kept = letters.length - 1; kept > 1; kept -= 1) {
    const head = Math.ceil(kept / 2);
    const shorter = `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (kept - head)).join("")}`;
    if (context.measureText(shorter).width <= width) return shorter;
  }
  return "…";
}

/* Three significant digits as people read them. */
function shown(value) {
  if (!Number.isFinite(value)) return "not finite";
  if (value === 0) return "0";
  if (value >= 1e4) return "> 1e4";
  if (value >= 1000) return value.toFixed(0);
  return value < 0.001 ? value.toExponential(0) : String(Number(value.toPrecision(3)));
}

/* The page's own colours, as CSS custom properties give them. */
function pageColours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const names = [
    "ink", "muted", "surface", "line", "grid", "shadow", "body", "body-edge", "engine", "engine-edge", "marked", "blank",
    "over", "within", "focus",
  ];
  const entries = names.map((name) => [name.replace(/-(.)/g, (_, letter) => letter.toUpperCase()), read(`--${name}`)]);
  return Object.fromEntries(entries);
}
