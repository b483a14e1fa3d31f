// SPDX-License-Identifier: Apache-2.0

// Cuts listening into intervals for the server's log: one about every five seconds, and one whenever playback stops or jumps.
// Intervals are contiguous: each begins where and when the previous one ended.

/**
 * @typedef {object} Interval what `POST /v2/states/` takes
 * @property {string} id order
 * @property {string} startUtc
 * @property {string} endUtc
 * @property {number} startPosition whole seconds of the book
 * @property {number} endPosition
 * @property {number} positionMs the exact end
 * @property {number} speed
 * @property {string} deviceId
 * @property {string} deviceName
 */

/** Milliseconds of one interval. */
const piece = 5000;
/** Shorter intervals are ignored. */
const crumb = 300;

export class ListeningLog {
  #about;
  #add;
  #now;
  /** @type {{at: number, position: number, speed: number}|null} */
  #open = null;

  /**
   * @param {{id: string, deviceId: string, deviceName: string}} about
   * @param {(interval: Interval) => void} add
   * @param {() => number} [now] milliseconds since 1970
   */
  constructor(about, add, now = Date.now) {
    this.#about = about;
    this.#add = add;
    this.#now = now;
  }

  /** Playback started. @param {number} position seconds @param {number} speed */
  begin(position, speed) {
    if (this.#open) this.end(position);
    this.#open = { at: this.#now(), position, speed };
  }

  /** Playback advances. @param {number} position seconds */
  tick(position) {
    if (!this.#open || this.#now() - this.#open.at < piece) return;
    const { speed } = this.#open;
    this.end(position);
    this.begin(position, speed);
  }

  /** Playback stopped, or is about to jump. @param {number} position seconds before the jump */
  end(position) {
    const open = this.#open;
    this.#open = null;
    if (!open) return;
    const now = Math.max(this.#now(), open.at); // the clock may have been set back
    if (now - open.at >= crumb) this.#write(open.at, now, open.position, position, open.speed);
  }

  /** The listener went to a place without playing. @param {number} position seconds */
  mark(position) {
    const now = this.#now();
    this.#write(now, now, position, position, 1);
  }

  /**
   * @param {number} from milliseconds since 1970
   * @param {number} to
   * @param {number} start seconds
   * @param {number} end
   * @param {number} speed
   */
  #write(from, to, start, end, speed) {
    const { id, deviceId, deviceName } = this.#about;
    this.#add({
      id,
      startUtc: new Date(from).toISOString(),
      endUtc: new Date(to).toISOString(),
      startPosition: Math.floor(start),
      endPosition: Math.floor(end),
      positionMs: Math.round(end * 1000),
      speed,
      deviceId,
      deviceName,
    });
  }
}
