/* Decode the numbers of the page: base64 of little-endian 16-bit words, as run_data.py writes them. */

const NOT_FINITE = 0xffff;

function toWords(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const words = new Uint16Array(bytes.length >> 1);
  for (let i = 0; i < words.length; i += 1) words[i] = view.getUint16(2 * i, true);
  return words;
}

/* Magnitudes on a logarithmic scale: word 0 is zero, word 65535 is non-finite. */
function toMagnitudes(base64, scale) {
  const words = toWords(base64);
  const step = (scale.high - scale.low) / (NOT_FINITE - 2);
  return Float32Array.from(words, (code) => {
    if (code === 0) return 0;
    return code === NOT_FINITE ? Infinity : 10 ** (scale.low + (code - 1) * step);
  });
}

/* Unit quaternions xyzw without the largest component; the top bits of the first two words give its index. */
function toQuaternions(base64) {
  const words = toWords(base64);
  const count = words.length / 3;
  const out = new Float32Array(4 * count);
  for (let i = 0; i < count; i += 1) {
    const [a, b, c] = [words[3 * i], words[3 * i + 1], words[3 * i + 2]];
    if (a === NOT_FINITE && b === NOT_FINITE && c === NOT_FINITE) {
      out.fill(NaN, 4 * i, 4 * i + 4);
      continue;
    }
    const largest = (a >> 15) | ((b >> 15) << 1);
    const small = [a, b, c].map((word) => ((word & 0x7fff) / 0x7fff) * Math.SQRT2 - Math.SQRT1_2);
    let left = 1;
    for (let k = 0, from = 0; k < 4; k += 1) {
      if (k === largest) continue;
      out[4 * i + k] = small[from];
      left -= small[from] * small[from];
      from += 1;
    }
    out[4 * i + largest] = Math.sqrt(Math.max(left, 0));
  }
  return out;
}

function toRun(raw, scale) {
  const frames = raw.frames.length;
  const bones = raw.bones.length;
  const deg = toMagnitudes(raw.deg, scale);
  const cm = raw.cm === null ? null : toMagnitudes(raw.cm, scale);
  const run = { ...raw, frameCount: frames, boneCount: bones, errors: { deg, cm } };
  run.drawn = raw.parents !== null;
  if (run.drawn) {
    run.reference = toQuaternions(raw.reference);
    run.engine = toQuaternions(raw.engine);
    run.order = parentsFirst(raw.parents);
  }
  run.depths = depthsOf(raw.parents, bones);
  run.stageRatios = raw.stages.map((stage) => toMagnitudes(stage.ratios, scale));
  return run;
}

function parentsFirst(parents) {
  const children = parents.map(() => []);
  const order = [];
  const roots = [];
  parents.forEach((parent, bone) => (parent < 0 ? roots : children[parent]).push(bone));
  const waiting = roots.reverse();
  while (waiting.length) {
    const bone = waiting.pop();
    order.push(bone);
    waiting.push(...children[bone].slice().reverse());
  }
  return order;
}

function depthsOf(parents, bones) {
  const depths = new Array(bones).fill(0);
  if (parents === null) return depths;
  for (const bone of parentsFirst(parents)) {
    if (parents[bone] >= 0) depths[bone] = depths[parents[bone]] + 1;
  }
  return depths;
}
