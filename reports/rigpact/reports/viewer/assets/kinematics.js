/* Forward kinematics on the rest skeleton. Quaternions are xyzw, a bone's offset lies in its parent's frame, metres. */

function multiply(out, at, ax, ay, az, aw, bx, by, bz, bw) {
  out[at] = aw * bx + ax * bw + ay * bz - az * by;
  out[at + 1] = aw * by - ax * bz + ay * bw + az * bx;
  out[at + 2] = aw * bz + ax * by - ay * bx + az * bw;
  out[at + 3] = aw * bw - ax * bx - ay * by - az * bz;
}

function rotate(out, at, qx, qy, qz, qw, x, y, z) {
  const tx = 2 * (qy * z - qz * y);
  const ty = 2 * (qz * x - qx * z);
  const tz = 2 * (qx * y - qy * x);
  out[at] = x + qw * tx + qy * tz - qz * ty;
  out[at + 1] = y + qw * ty + qz * tx - qx * tz;
  out[at + 2] = z + qw * tz + qx * ty - qy * tx;
}

/* Positions (3 numbers per bone) of local rotations; NaN for a non-finite bone and the bones below it. */
function forwardKinematics(run, local) {
  const positions = new Float64Array(3 * run.boneCount);
  const world = new Float64Array(4 * run.boneCount);
  const moved = new Float64Array(3);
  for (const bone of run.order) {
    const q = local.subarray(4 * bone, 4 * bone + 4);
    const [x, y, z] = [0, 1, 2].map((axis) => run.offsets[3 * bone + axis]);
    const parent = run.parents[bone];
    if (parent < 0) {
      world.set(q, 4 * bone);
      positions.set([x, y, z], 3 * bone);
      continue;
    }
    const p = world.subarray(4 * parent, 4 * parent + 4);
    multiply(world, 4 * bone, p[0], p[1], p[2], p[3], q[0], q[1], q[2], q[3]);
    rotate(moved, 0, p[0], p[1], p[2], p[3], x, y, z);
    for (let axis = 0; axis < 3; axis += 1) positions[3 * bone + axis] = positions[3 * parent + axis] + moved[axis];
  }
  return positions;
}

/* The engine's local rotations; their difference to the reference is multiplied by `factor`. */
function exaggerated(reference, engine, factor) {
  if (factor === 1) return engine;
  const out = new Float64Array(engine.length);
  const delta = new Float64Array(4);
  for (let i = 0; i < engine.length; i += 4) {
    const [rx, ry, rz, rw] = reference.subarray(i, i + 4);
    const [ex, ey, ez, ew] = engine.subarray(i, i + 4);
    multiply(delta, 0, -rx, -ry, -rz, rw, ex, ey, ez, ew);
    const sign = delta[3] < 0 ? -1 : 1;
    const sine = Math.hypot(delta[0], delta[1], delta[2]);
    const half = Math.min(Math.atan2(sine, sign * delta[3]) * factor, Math.PI / 2);
    const grown = sine > 0 ? (sign * Math.sin(half)) / sine : 0;
    multiply(out, i, rx, ry, rz, rw, delta[0] * grown, delta[1] * grown, delta[2] * grown, Math.cos(half));
  }
  return out;
}

/* Positions where the root stands in the world: turned by its heading about z, then moved. */
function travelled(positions, [x, y, z, heading]) {
  const [cos, sin] = [Math.cos(heading), Math.sin(heading)];
  return Float64Array.from(positions, (value, i) => {
    if (i % 3 === 0) return x + cos * value - sin * positions[i + 1];
    return i % 3 === 1 ? y + sin * positions[i - 1] + cos * value : z + value;
  });
}

/* Positions of both sides at a column: [reference, engine]. */
function posesAt(run, column, factor) {
  const at = 4 * run.boneCount * column;
  const reference = run.reference.subarray(at, at + 4 * run.boneCount);
  const engine = run.engine.subarray(at, at + 4 * run.boneCount);
  return [forwardKinematics(run, reference), forwardKinematics(run, exaggerated(reference, engine, factor))];
}
