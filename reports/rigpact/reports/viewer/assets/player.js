/* Time: the shown frame, and playback. */

class Player {
  constructor(change) {
    this.change = change;
    this.playing = false;
    this.speed = 1;
  }

  open(run) {
    this.run = run;
    this.stop();
  }

  toggle() {
    if (this.playing) this.stop();
    else this.start();
  }

  start() {
    if (!this.run || this.run.frameCount < 2) return;
    this.playing = true;
    this.since = null;
    this.change({ playing: true });
    requestAnimationFrame((now) => this.tick(now));
  }

  stop() {
    if (!this.playing) return;
    this.playing = false;
    this.change({ playing: false });
  }

  /* Columns follow the recording's frame numbers: a gap lasts as long as in the recording. */
  tick(now) {
    if (!this.playing) return;
    const { frames, frameCount, fps } = this.run;
    if (this.since === null) {
      this.since = now;
      const at = this.at();
      this.from = frames[at === frameCount - 1 ? 0 : at];
    }
    const span = frames[frameCount - 1] - frames[0] + 1;
    const passed = ((now - this.since) / 1000) * fps * this.speed;
    const frame = frames[0] + ((this.from - frames[0] + passed) % span);
    this.change({ column: lastAtOrBefore(frames, frame) });
    requestAnimationFrame((later) => this.tick(later));
  }

  /* Continue from the present frame at another speed. */
  restart() {
    this.since = null;
  }
}

function lastAtOrBefore(sorted, value) {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sorted[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

function nearestColumn(frames, frame) {
  const below = lastAtOrBefore(frames, frame);
  const above = Math.min(below + 1, frames.length - 1);
  return Math.abs(frames[above] - frame) < Math.abs(frames[below] - frame) ? above : below;
}
