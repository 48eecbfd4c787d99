/* The curve of the worst bone and the strips of the stages: both are heights over time, in decades. */

const STRIP_HEIGHT = 20;
const STRIP_DECADES_BELOW = 2;
const FLAG_HEIGHT = 20;

class Curve extends Plot {
  get height() {
    return 76;
  }

  paint(context, state) {
    const { run, left, span } = this;
    const unit = unitOf(state.metric);
    const count = Math.min(Math.round(span), run.frameCount);
    const values = pooled(run.worst[state.metric], 0, 1, run.frameCount, count);
    const xOf = (i) => left + ((i + 0.5) / count) * span;
    const top = values.reduce((a, b) => (Number.isFinite(b) ? Math.max(a, b) : a), 0) || 1;
    const [base, high] = [this.height - 8, this.height - 8 - FLAG_HEIGHT - 6];
    const heightOf = (value) => base - high * Math.min(value / top, 1);
    context.strokeStyle = this.colours.line;
    context.lineWidth = 1;
    line(context, [left, base + 0.5], [left + span, base + 0.5]);
    context.beginPath();
    context.moveTo(left, base);
    context.lineTo(left, heightOf(values[0]));
    values.forEach((value, i) => context.lineTo(xOf(i), heightOf(value)));
    context.lineTo(left + span, heightOf(values[count - 1]));
    context.lineTo(left + span, base);
    context.fillStyle = this.colours.within;
    context.fill();
    context.strokeStyle = this.colours.over;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(left, heightOf(values[0]));
    values.forEach((value, i) => context.lineTo(xOf(i), heightOf(value)));
    context.lineTo(left + span, heightOf(values[count - 1]));
    context.stroke();
    this.label(context, "worst bone", base - high / 2 + 4, 0, true);
    this.value(context, `${shown(top)}${unit}`, base - high + 9, true);
    this.value(context, "0", base, false);
    this.flag(context, run.worstPlace.column, "◆ worst", high, base);
    if (run.first) this.flag(context, run.first.column, "▼ first", high, base);
  }

  flag(context, column, text, high, base) {
    const x = this.xOf(column);
    context.font = FONT_SMALL;
    const wide = context.measureText(text).width;
    const fromRight = x + wide > this.left + this.span;
    context.fillStyle = this.colours.ink;
    context.textAlign = fromRight ? "right" : "left";
    const level = text.startsWith("▼") && Math.abs(x - this.xOf(this.run.worstPlace.column)) < 2 * wide ? -11 : 0;
    context.fillText(text, fromRight ? x + 4 : x - 4, base - high - 6 + level + (level ? 0 : 2));
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 1;
    context.setLineDash(text.startsWith("▼") ? [] : [2, 2]);
    line(context, [x, base - high - 3], [x, base]);
    context.setLineDash([]);
  }
}

class Strips extends Plot {
  get height() {
    return FLAG_HEIGHT + STRIP_HEIGHT * this.run.stages.length + 4;
  }

  paint(context) {
    const { run } = this;
    const largest = Math.max(...run.stageRatios.map(largestFinite), 100);
    this.decades = STRIP_DECADES_BELOW + Math.log10(largest);
    run.stages.forEach((stage, row) => this.paintStage(context, stage, row));
    if (run.first) this.paintFirst(context);
  }

  paintStage(context, stage, row) {
    const { left, span, run } = this;
    const top = FLAG_HEIGHT + STRIP_HEIGHT * row;
    const [base, high] = [top + STRIP_HEIGHT - 3, STRIP_HEIGHT - 6];
    const bound = base - (high * STRIP_DECADES_BELOW) / this.decades;
    const isOver = largestOf(run.stageRatios[row]) > 1;
    const isFirst = run.first !== null && run.first.stage === stage.name;
    this.label(context, `${isFirst ? "▶ " : ""}${stage.name}`, base - 4, 0, isOver);
    if (stage.note && largestOf(run.stageRatios[row]) === 0) {
      this.hatch(context, left, top + 3, span, high, stage.note);
      this.value(context, "–", base - 4, false);
      return;
    }
    const ratios = pooled(run.stageRatios[row], 0, 1, run.frameCount, Math.round(span));
    for (const { start, end, isOver: here } of stretches(ratios, (ratio) => ratio > 1)) {
      const outline = [[left + start, base]];
      for (let x = start; x < end; x += 1) {
        const y = base - this.tallness(ratios[x]) * high;
        outline.push([left + x, y], [left + x + 1, y]);
      }
      polygon(context, [...outline, [left + end, base]]);
      context.fillStyle = here ? this.colours.over : this.colours.within;
      context.fill();
    }
    context.strokeStyle = this.colours.line;
    context.lineWidth = 1;
    line(context, [left, base + 0.5], [left + span, base + 0.5]);
    context.strokeStyle = this.colours.muted;
    context.setLineDash([3, 3]);
    line(context, [left, Math.round(bound) + 0.5], [left + span, Math.round(bound) + 0.5]);
    context.setLineDash([]);
    this.value(context, isOver ? factor(largestOf(run.stageRatios[row])) : "✓ within", base - 4, isOver);
  }

  /* The text for a place of the plot. */
  textAt(column, y) {
    const row = Math.floor((y - FLAG_HEIGHT) / STRIP_HEIGHT);
    const { stages, stageRatios, frames } = this.run;
    const stage = Math.min(Math.max(row, 0), stages.length - 1);
    return `${stages[stage].name} · frame ${frames[column]} · ${factor(stageRatios[stage][column])} its tolerance`;
  }

  tallness(ratio) {
    return Math.min(Math.max((Math.log10(ratio || 1e-9) + STRIP_DECADES_BELOW) / this.decades, 0), 1);
  }

  hatch(context, x, y, width, height, note) {
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.strokeStyle = this.colours.line;
    context.lineWidth = 1;
    for (let at = -height; at < width; at += 6) line(context, [x + at, y + height], [x + at + height, y]);
    context.font = FONT_SMALL;
    context.textAlign = "left";
    const text = cut(context, note, width - 12);
    context.fillStyle = this.colours.surface;
    context.fillRect(x + 4, y, context.measureText(text).width + 8, height);
    context.fillStyle = this.colours.muted;
    context.fillText(text, x + 8, y + height - 5);
    context.restore();
  }

  paintFirst(context) {
    const x = this.xOf(this.run.first.column);
    context.strokeStyle = this.colours.ink;
    context.lineWidth = 1;
    line(context, [x, FLAG_HEIGHT - 6], [x, this.height - 4]);
    context.font = FONT_BOLD;
    context.fillStyle = this.colours.ink;
    const text = `▼ first divergence: ${this.run.first.stage}`;
    const toLeft = x + context.measureText(text).width > this.width;
    context.textAlign = toLeft ? "right" : "left";
    context.fillText(text, toLeft ? x + 5 : x - 5, FLAG_HEIGHT - 8);
  }
}

/* Maximal ranges of neighbours for which a condition is true. */
function stretches(values, question) {
  const found = [];
  for (let start = 0, x = 1; start < values.length; x += 1) {
    if (x < values.length && question(values[x]) === question(values[start])) continue;
    found.push({ start, end: x, isOver: question(values[start]) });
    start = x;
  }
  return found;
}

function factor(ratio) {
  return Number.isFinite(ratio) ? `${shown(ratio)} ×` : "not finite";
}

function largestOf(values) {
  return values.reduce((a, b) => Math.max(a, b), 0);
}

function largestFinite(values) {
  return values.reduce((a, b) => (Number.isFinite(b) ? Math.max(a, b) : a), 0);
}

function unitOf(metric) {
  return metric === "deg" ? "°" : " cm";
}
