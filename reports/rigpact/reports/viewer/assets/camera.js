/* An orbiting camera. Axes as in the engine: x forward, y right, z up, left-handed. */

const FIELD = 2.9; /* focal length over half the shorter side: a long lens, so that limbs keep their proportions */
const VIEWS = { corner: [2.45, 0.2], front: [Math.PI, 0.06], side: [Math.PI / 2, 0.06], top: [Math.PI, 1.5] };

class Camera {
  constructor() {
    this.target = [0, 0, 1];
    this.reach = 1;
    this.view("corner");
  }

  view(name) {
    [this.yaw, this.pitch] = VIEWS[name];
    this.zoom = 1;
  }

  orbit(yaw, pitch) {
    this.yaw += yaw;
    this.pitch = Math.min(Math.max(this.pitch + pitch, -0.4), 1.5);
  }

  magnify(factor) {
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.3), 12);
  }

  /* Frame the box between two corners. */
  frame(low, high) {
    this.target = low.map((value, axis) => (value + high[axis]) / 2);
    this.reach = Math.max(Math.hypot(...low.map((value, axis) => high[axis] - value)) / 2, 0.05);
  }

  /* Prepare projecting to a canvas of this size. */
  aim(width, height) {
    const [cosY, sinY, cosP, sinP] = [Math.cos(this.yaw), Math.sin(this.yaw), Math.cos(this.pitch), Math.sin(this.pitch)];
    this.forward = [cosY * cosP, sinY * cosP, -sinP];
    this.right = [-sinY, cosY, 0];
    this.up = [cosY * sinP, sinY * sinP, cosP];
    this.distance = (this.reach * FIELD * 1.1) / this.zoom;
    this.focal = (FIELD * Math.min(width, height)) / 2;
    this.middle = [width / 2, 0.51 * height];
  }

  /* Screen x, y, and the depth in metres. */
  project(x, y, z) {
    const d = [x - this.target[0], y - this.target[1], z - this.target[2]];
    const along = (axis) => d[0] * axis[0] + d[1] * axis[1] + d[2] * axis[2];
    const depth = Math.max(along(this.forward) + this.distance, 0.01);
    const scale = this.focal / depth;
    return [this.middle[0] + scale * along(this.right), this.middle[1] - scale * along(this.up), depth];
  }

  /* Pixels per metre at a depth. */
  scaleAt(depth) {
    return this.focal / depth;
  }
}
