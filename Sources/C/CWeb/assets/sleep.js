// SPDX-License-Identifier: Apache-2.0

// The sleep timer: after some minutes of listening or at the end of the chapter, it fades out and pauses.

/** Seconds of the fade. */
const fadeOut = 8;

/**
 * Events: `change` (set, cancelled, a second less), `slept`.
 */
export class SleepTimer extends EventTarget {
  #player;
  /** Seconds of listening left, null when off. @type {number|null} */
  #left = null;
  /** The end of the chapter; null if not requested. @type {number|null} */
  #end = null;
  #last = 0;

  /** @param {import('./player.js').Player} player */
  constructor(player) {
    super();
    this.#player = player;
    player.addEventListener('time', () => this.#check());
    player.addEventListener('jump', (event) => this.#follow(/** @type {CustomEvent} */ (event).detail.to));
    player.addEventListener('state', () => {
      if (player.state === 'ended') this.cancel();
      this.#last = performance.now();
    });
  }

  /** @returns {'off'|'minutes'|'chapter'} */
  get mode() {
    return this.#left !== null ? 'minutes' : this.#end !== null ? 'chapter' : 'off';
  }

  /** Seconds of listening left, null when off. */
  get left() {
    if (this.#end !== null) return Math.max(0, (this.#end - this.#player.time) / this.#player.speed);
    return this.#left;
  }

  /** @param {number} minutes */
  after(minutes) {
    this.#reset();
    this.#left = minutes * 60;
    this.#changed();
  }

  /** @param {number} minutes */
  extend(minutes) {
    if (this.#left === null) return;
    this.#left += minutes * 60;
    this.#player.fade = 1;
    this.#changed();
  }

  atEndOfChapter() {
    this.#reset();
    this.#end = this.#player.chapterEnd(this.#player.chapterAt());
    this.#changed();
  }

  cancel() {
    if (this.mode === 'off') return;
    this.#reset();
    this.#changed();
  }

  #reset() {
    this.#left = null;
    this.#end = null;
    this.#last = performance.now();
    this.#player.fade = 1;
  }

  /** Keeps "end of chapter" about the chapter that plays. @param {number} to */
  #follow(to) {
    if (this.#end === null) return;
    this.#end = this.#player.chapterEnd(this.#player.chapterAt(to));
    this.#player.fade = 1;
    this.#changed();
  }

  #check() {
    if (this.mode === 'off') return;
    const now = performance.now();
    const passed = (now - this.#last) / 1000;
    this.#last = now;
    if (this.#player.state !== 'playing') return;
    if (this.#left !== null) this.#left = Math.max(0, this.#left - passed);
    const left = /** @type {number} */ (this.left);
    if (left > 0.2) {
      this.#player.fade = Math.min(1, left / fadeOut);
      this.#changed();
      return;
    }
    const end = this.#end;
    this.#player.pause();
    if (end !== null && end < this.#player.duration) this.#player.jump(end);
    this.#reset();
    this.#changed();
    this.dispatchEvent(new Event('slept'));
  }

  #changed() {
    this.dispatchEvent(new Event('change'));
  }
}
