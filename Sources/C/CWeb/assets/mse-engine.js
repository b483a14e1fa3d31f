// SPDX-License-Identifier: Apache-2.0

// Feeds an audio element through Media Source Extensions: keeps a window of decrypted segments around the clock.

import { segmentAt } from './playlist.js';
import { initializationSegment, wrapSegment } from './mux-fmp4.js';

/** Seconds kept before the current time, so that a step back is instant. */
const behind = 60;
/** Seconds fetched ahead while playing: enough for a train in a tunnel. */
const aheadPlaying = 300;
/** Seconds fetched ahead while paused. */
const aheadPaused = 15;
/** What a range may lack at its edges and still hold a segment. */
const tolerance = 0.15;

/** @typedef {{mime: string, wrap: boolean}} Form how segments are appended: packed and unchanged, or wrapped into fMP4 */

/**
 * Events: `failed` (`detail` is the error): nothing more will play.
 */
export class MSEEngine extends EventTarget {
  #audio;
  #source;
  #form;
  #media;
  /** @type {SourceBuffer|null} */
  #buffer = null;
  #closed = new AbortController();
  /** @type {AbortController|null} */
  #fetching = null;
  #inFlight = -1;
  #lastAppended = -2;
  #initialized = '';
  /** Where to start, until the element knows its media. @type {number|null} */
  #pending;
  #ahead = aheadPlaying;
  #wake = () => {};
  /** Whether play was pressed: before that nothing is fetched, because fetching counts as listening. */
  #begun = false;
  /** Segments that came but cannot be played: skipped over. */
  #hollow = new Set();
  #attempts = new Map();

  /**
   * @param {HTMLAudioElement} audio
   * @param {import('./segments.js').SegmentSource} source with its playlist open
   * @param {Form} form
   * @param {number} time seconds of the stream to start at
   */
  constructor(audio, source, form, time) {
    super();
    this.#audio = audio;
    this.#source = source;
    this.#form = form;
    this.#pending = time;
    const Media = globalThis.MediaSource ?? globalThis.ManagedMediaSource;
    if (!globalThis.MediaSource) audio.disableRemotePlayback = true; // ManagedMediaSource opens only then
    this.#media = new Media();
    /** Whether anything was appended: a form the browser wrongly claimed to take fails before that. */
    this.appended = false;
  }

  /** Attaches to the element; fetching starts with playing. */
  async start() {
    const { signal } = this.#closed;
    const audio = this.#audio;
    const opened = once(this.#media, 'sourceopen', signal);
    const address = URL.createObjectURL(this.#media);
    audio.src = address;
    await opened;
    URL.revokeObjectURL(address);
    this.#media.duration = this.#source.playlist.starts.at(-1);
    this.#buffer = this.#media.addSourceBuffer(this.#form.mime);
    if (!this.#form.wrap) this.#buffer.mode = 'sequence';
    this.#begun = !audio.paused;
    audio.addEventListener('play', () => { this.#begun = true; }, { signal });
    for (const type of ['timeupdate', 'play', 'seeking', 'waiting']) audio.addEventListener(type, () => this.#wake(), { signal });
    audio.addEventListener('loadedmetadata', () => this.#settle(), { signal });
    audio.addEventListener('error', () => this.#fail(audio.error ?? new Error('the audio element failed')), { signal });
    this.#feed();
  }

  /** Seconds of the stream. */
  get time() {
    return this.#pending ?? this.#audio.currentTime;
  }

  /** @param {number} time seconds of the stream */
  seek(time) {
    if (this.#pending !== null) this.#pending = time;
    else this.#audio.currentTime = time;
    if (this.#inFlight >= 0 && this.#next() !== this.#inFlight) this.#fetching?.abort();
    this.#wake();
  }

  close() {
    this.#closed.abort();
    this.#fetching?.abort();
    this.#wake();
    this.#audio.removeAttribute('src');
    this.#audio.load();
  }

  #settle() {
    if (this.#pending === null) return;
    const time = this.#pending;
    this.#pending = null;
    if (time > 0) this.#audio.currentTime = time;
  }

  /** @param {unknown} error */
  #fail(error) {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    this.#fetching?.abort();
    this.dispatchEvent(new CustomEvent('failed', { detail: error }));
  }

  async #feed() {
    const { signal } = this.#closed;
    try {
      while (!signal.aborted) {
        const n = this.#next();
        if (n < 0) {
          this.#finish();
          await new Promise((resolve) => { this.#wake = () => resolve(undefined); });
        } else {
          await this.#fetch(n);
        }
        this.#skipGap();
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @param {number} n */
  async #fetch(n) {
    const fetching = this.#fetching = new AbortController();
    this.#inFlight = n;
    try {
      const data = await this.#source.load(n, fetching.signal);
      if (!fetching.signal.aborted) await this.#append(n, data);
    } catch (error) {
      if (this.#closed.signal.aborted || !fetching.signal.aborted) throw error;
    } finally {
      this.#inFlight = -1;
    }
  }

  /** The segment that is wanted most, −1 when the window is full. */
  #next() {
    if (!this.#begun) return -1;
    const { playlist } = this.#source;
    const time = this.time;
    const until = time + (this.#audio.paused ? Math.min(aheadPaused, this.#ahead) : this.#ahead);
    for (let n = segmentAt(playlist, time); n < playlist.count && playlist.starts[n] < until; n++) {
      if (!this.#holds(n)) return n;
    }
    return -1;
  }

  /** @param {number} n */
  #holds(n) {
    if (this.#hollow.has(n)) return true;
    const { starts } = this.#source.playlist;
    const from = starts[n] + Math.min(tolerance, (starts[n + 1] - starts[n]) / 3);
    const to = starts[n + 1] - Math.min(tolerance, (starts[n + 1] - starts[n]) / 3);
    const { buffered } = this.#buffer;
    for (let i = 0; i < buffered.length; i++) {
      if (buffered.start(i) <= from && buffered.end(i) >= to) return true;
    }
    return false;
  }

  /** @param {number} n @param {Uint8Array} data */
  async #append(n, data) {
    const start = this.#source.playlist.starts[n];
    let bytes = data;
    if (this.#form.wrap) {
      try {
        bytes = await this.#wrap(data, start, n);
      } catch (error) {
        if (!this.appended) throw error;
        this.#hollow.add(n); // a damaged segment costs ten seconds, not the book
        return;
      }
    } else if (n !== this.#lastAppended + 1) {
      this.#buffer.timestampOffset = start;
    }
    await this.#evict(behind);
    await this.#put(bytes);
    this.appended = true;
    this.#lastAppended = n;
    const tries = (this.#attempts.get(n) ?? 0) + 1;
    if (this.#holds(n)) this.#attempts.delete(n);
    else if (tries >= 2) this.#hollow.add(n);
    else {
      this.#attempts.set(n, tries);
      this.#lastAppended = -2; // the next append sets its own place on the timeline
    }
  }

  /** @param {Uint8Array} data @param {number} start @param {number} n */
  async #wrap(data, start, n) {
    const { format, fragment } = wrapSegment(data, start, n + 1);
    const shape = `${format.codec} ${format.rate} ${format.channels}`;
    if (shape !== this.#initialized) {
      await this.#put(initializationSegment(format));
      this.#initialized = shape;
    }
    return fragment;
  }

  /** Appends, making room when the browser has none. @param {Uint8Array} bytes */
  async #put(bytes) {
    for (;;) {
      try {
        await this.#update((buffer) => buffer.appendBuffer(bytes));
        return;
      } catch (error) {
        if (error?.name !== 'QuotaExceededError') throw error;
        this.#ahead = Math.max(30, this.#ahead / 2);
        if (!await this.#evict(5)) await new Promise((resolve) => { setTimeout(resolve, 2000); });
        if (this.#closed.signal.aborted) throw error;
      }
    }
  }

  /** Removes buffered media far from the current time. @param {number} keep seconds before the current time @returns whether anything was removed */
  async #evict(keep) {
    const { buffered } = this.#buffer;
    if (buffered.length === 0) return false;
    const time = this.time;
    const far = time + this.#ahead + 60;
    let removed = false;
    if (buffered.start(0) < time - keep - 15) {
      await this.#update((buffer) => buffer.remove(0, time - keep));
      removed = true;
    }
    if (this.#buffer.buffered.length > 0 && this.#buffer.buffered.end(this.#buffer.buffered.length - 1) > far) {
      await this.#update((buffer) => buffer.remove(far, Infinity));
      this.#lastAppended = -2;
      removed = true;
    }
    return removed;
  }

  /** @param {(buffer: SourceBuffer) => void} change */
  async #update(change) {
    const buffer = this.#buffer;
    const over = new AbortController();
    const { signal } = over;
    const ended = new Promise((resolve, reject) => {
      buffer.addEventListener('error', () => reject(new Error('the browser cannot read this audio')), { signal });
      buffer.addEventListener('updateend', resolve, { signal });
      this.#closed.signal.addEventListener('abort', () => reject(new Error('closed')), { signal });
    });
    ended.catch(() => {}); // `change` may throw first
    try {
      change(buffer);
      await ended;
    } finally {
      over.abort();
    }
  }

  /** Says that the stream is complete once its end is there. */
  #finish() {
    const { playlist } = this.#source;
    if (this.#media.readyState !== 'open' || this.#buffer.updating || !this.#holds(playlist.count - 1)) return;
    if (this.time + this.#ahead < playlist.starts.at(-1)) return;
    this.#media.endOfStream();
    this.#lastAppended = -2;
  }

  /** Skips an empty segment or a tiny gap between two ranges, where the clock would stop forever. */
  #skipGap() {
    const audio = this.#audio;
    if (this.#pending !== null || audio.paused || audio.readyState > 2) return;
    const { playlist } = this.#source;
    const time = audio.currentTime;
    const { buffered } = this.#buffer;
    for (let i = 0; i < buffered.length; i++) {
      if (buffered.start(i) <= time + 0.01 && buffered.end(i) > time + 0.1) return;
      if (buffered.start(i) > time && buffered.start(i) < time + 0.5) {
        audio.currentTime = buffered.start(i) + 0.005;
        return;
      }
    }
    const n = segmentAt(playlist, time + 0.1);
    if (this.#hollow.has(n) && n + 1 < playlist.count) audio.currentTime = playlist.starts[n + 1] + 0.005;
  }
}

/** @param {EventTarget} target @param {string} type @param {AbortSignal} signal */
function once(target, type, signal) {
  return new Promise((resolve, reject) => {
    target.addEventListener(type, resolve, { once: true });
    signal.addEventListener('abort', () => reject(new Error('closed')), { once: true });
  });
}
