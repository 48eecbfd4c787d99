/* The numbers of one stage over time, a row a channel: as they should be, wide and pale; as they were recorded, narrow. */

const VALUE_ROW = 34;

class Values extends Plot {
  get height() {
    return VALUE_ROW * this.run.values.names.length + 4;
  }

  paint(context) {
    const { names, expected, recorded, unit } = this.run.values;
    names.forEach((name, row) => {
      const known = [...expected[row], ...recorded[row]].filter((value) => value !== null);
      const [low, high] = known.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
      const [base, tall] = [VALUE_ROW * (row + 1) - 5, VALUE_ROW - 10];
      const yOf = (value) => base - (high > low ? (value - low) / (high - low) : 0.5) * tall;
      context.strokeStyle = this.colours.grid;
      context.lineWidth = 1;
      line(context, [this.left, base + 4.5], [this.left + this.span, base + 4.5]);
      this.trace(context, expected[row], yOf, this.colours.body, 6);
      this.trace(context, recorded[row], yOf, this.colours.engine, 1.5);
      const apart = Math.max(...expected[row].map((value, i) => this.apart(value, recorded[row][i])));
      this.label(context, name, base - tall / 2 + 4, 0, apart > 0.01 * (high - low));
      this.value(context, apart > 0.01 * (high - low) ? `${shown(apart)}${unit ? ` ${unit}` : ""}` : "✓", base - tall / 2 + 4, true);
    });
  }

  apart(a, b) {
    if (a === null || b === null) return a === b ? 0 : Infinity;
    return Math.abs(a - b);
  }

  trace(context, values, yOf, colour, width) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.beginPath();
    let isDown = false;
    values.forEach((value, column) => {
      if (value !== null) context[isDown ? "lineTo" : "moveTo"](this.xOf(column), yOf(value));
      isDown = value !== null;
    });
    context.stroke();
  }

  /* The text for a place of the plot. */
  textAt(column, y) {
    const { names, expected, recorded, unit } = this.run.values;
    const row = Math.min(Math.max(Math.floor(y / VALUE_ROW), 0), names.length - 1);
    const [a, b] = [expected, recorded].map((side) => `${side[row][column] ?? "not finite"} ${unit}`.trim());
    return `${names[row]} · frame ${this.run.frames[column]} · expected ${a}, recorded ${b}`;
  }
}
