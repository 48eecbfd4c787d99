/* Colours of magnitudes: a path from dark blue over teal to pale yellow whose lightness rises evenly, so that it reads the
   same in grey and with any colour vision. On a light page it runs the other way round: more is always farther from the
   page. */

const PALETTE_STEPS = 256;

function oklabToRgb(lightness, a, b) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((value) => {
    const clipped = Math.min(Math.max(value, 0), 1);
    const encoded = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055;
    return Math.round(255 * encoded);
  });
}

function paletteTable(isDark) {
  const table = new Uint8Array(3 * PALETTE_STEPS);
  for (let i = 0; i < PALETTE_STEPS; i += 1) {
    const amount = i / (PALETTE_STEPS - 1);
    const t = isDark ? amount : 1 - amount;
    const hue = ((276 - 172 * t) * Math.PI) / 180;
    const chroma = 0.05 + 0.2 * t * (1 - t) + 0.03 * t;
    table.set(oklabToRgb(0.24 + 0.72 * t, chroma * Math.cos(hue), chroma * Math.sin(hue)), 3 * i);
  }
  return table;
}

const HEAT_LOW = -2; /* log10 of the unit where the palette starts: a hundredth of a degree or centimetre */
const HEAT_HIGH = 1;

/* Position of a magnitude in the palette, 0 to 1; below 0 is blank. The upper decade gets half of the range. */
function heatOf(value) {
  const decades = value > 0 ? (Math.log10(value) - HEAT_LOW) / (HEAT_HIGH - HEAT_LOW) : -1;
  return decades < 0 ? -1 : Math.min(decades, 1) ** 1.5;
}
