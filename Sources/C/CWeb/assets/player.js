// SPDX-License-Identifier: Apache-2.0

// The player: one audio element, one engine that feeds it, and the book's own clock. It is independent of the page.

import { RequestError } from './api.js';
import { lacksOutput } from './sound-output.js';

/**
 * @typedef {{title: string, start: number}} Chapter
 * @typedef {'opening'|'paused'|'playing'|'waiting'|'ended'|'stopped'} State
 *   opening: nothing is loaded yet. waiting: wants to play, has nothing to play. stopped: refused or broken; see `stopped`.
 */

export const slowest = 0.5;
export const fastest = 3;

/**
 * Events: `state`, `time` (about four times a second and after every jump), `jump` (`detail` {from, to}), `speed`, `volume`,
 * `stopped` (`detail` is the error).
 */
export class Player extends EventTarget {
  /** @type {import('./engines.js').Engine|null} */
  #engine = null;
  /** @type {import('./engines.js').EngineMaker[]} */
  #ways = [];
  #offset = 0;
  #start = 0;
  #wanted = false;
  /** @type {State} */
  #state = 'opening';
  #rebuilt = -Infinity;
  #volume = 1;
  #fade = 1;
  #muted = false;

  /** @param {HTMLAudioElement} audio */
  constructor(audio) {
    super();
    this.audio = audio;
    this.duration = 0;
    /** @type {Chapter[]} */
    this.chapters = [];
    audio.preservesPitch = true;
    audio.addEventListener('pause', () => {
      if (audio.paused) this.#wanted = false; // a headset was pulled out, a call came in
    });
    for (const type of ['play', 'pause', 'playing', 'waiting', 'canplay', 'seeked', 'stalled', 'ended']) {
      audio.addEventListener(type, () => this.#settle());
    }
    for (const type of ['timeupdate', 'seeking', 'seeked']) audio.addEventListener(type, () => this.#announce('time'));
  }

  /**
   * What is on the reel, before there is any audio.
   * @param {{duration: number, chapters: Chapter[], streamOffset: number}} book
   * @param {number} start seconds to start at
   */
  describe({ duration, chapters, streamOffset }, start) {
    this.duration = duration;
    this.chapters = chapters;
    this.#offset = streamOffset;
    this.#start = start;
    this.#announce('time');
  }

  /** Loads the audio with the first of `ways` that works. @param {import('./engines.js').EngineMaker[]} ways */
  load(ways) {
    this.#ways = ways;
    if (ways.length === 0) this.#stop(new Error('this browser has no way to play the audio', { cause: 'no-way' }));
    else this.#build();
  }

  #build() {
    const at = this.time;
    this.#engine?.close();
    const engine = this.#engine = this.#ways[0](at + this.#offset);
    engine.addEventListener('failed', (event) => this.#failed(engine, /** @type {CustomEvent} */ (event).detail));
    engine.start().catch((error) => this.#failed(engine, error));
    this.#applySpeed();
    if (this.#wanted) this.#startAudio();
    this.#settle();
  }

  /** @param {import('./engines.js').Engine} engine @param {unknown} error */
  #failed(engine, error) {
    if (engine !== this.#engine) return;
    this.#start = this.time;
    const answered = error instanceof RequestError;
    if (lacksOutput(error)) {
      this.#stop(error); // no other way to play would be heard
    } else if (!answered && !engine.appended && this.#ways.length > 1) {
      this.#ways.shift();
      this.#build();
    } else if (!answered && engine.appended && performance.now() - this.#rebuilt > 20_000) {
      this.#rebuilt = performance.now(); // one bad frame may kill the element: begin again where it died
      this.#build();
    } else {
      this.#stop(error);
    }
  }

  /** @param {unknown} error */
  #stop(error) {
    this.#start = this.time;
    this.#engine?.close();
    this.#engine = null;
    this.#wanted = false;
    this.#set('stopped');
    this.dispatchEvent(new CustomEvent('stopped', { detail: error }));
  }

  /** Begins again after `stopped`. */
  retry() {
    this.#set('opening');
    this.load(this.#ways);
  }

  get state() {
    return this.#state;
  }

  /** Whether someone wants to hear it, even while it waits. */
  get wanted() {
    return this.#wanted;
  }

  /** Seconds of the book. */
  get time() {
    if (!this.#engine) return this.#start;
    return Math.min(Math.max(0, this.#engine.time - this.#offset), this.duration);
  }

  play() {
    if (this.#state === 'stopped') return;
    if (this.#state === 'ended' || (this.duration > 0 && this.time >= this.duration - 0.5)) this.jump(0);
    this.#wanted = true;
    if (this.#engine) this.#startAudio();
    this.#settle();
  }

  async #startAudio() {
    try {
      await this.audio.play();
    } catch (error) {
      if (error.name !== 'NotAllowedError') return; // AbortError: paused or reloaded meanwhile
      this.#wanted = false;
      this.#settle();
    }
  }

  pause() {
    this.#wanted = false;
    this.audio.pause();
    this.#settle();
  }

  toggle() {
    if (this.#wanted) this.pause();
    else this.play();
  }

  /** @param {number} time seconds of the book */
  jump(time) {
    const from = this.time;
    const to = Math.min(Math.max(0, time), this.duration);
    if (this.#engine) this.#engine.seek(Math.max(0, to + this.#offset));
    else this.#start = to;
    this.dispatchEvent(new CustomEvent('jump', { detail: { from, to } }));
    this.#settle();
    this.#announce('time');
  }

  /** Plays from a place that was picked from a list. @param {number} time seconds of the book */
  playFrom(time) {
    this.jump(time);
    this.play();
  }

  /** @param {number} seconds backwards when negative */
  skip(seconds) {
    this.jump(this.time + seconds);
  }

  /** Index of the chapter at `time`, −1 when there are none. */
  chapterAt(time = this.time) {
    let low = -1;
    for (let i = 0; i < this.chapters.length && this.chapters[i].start <= time + 0.001; i++) low = i;
    return this.chapters.length > 0 ? Math.max(low, 0) : -1;
  }

  /** Where chapter `index` ends. @param {number} index */
  chapterEnd(index) {
    return this.chapters[index + 1]?.start ?? this.duration;
  }

  /** To the start of this chapter, or of the previous one if it has just begun. */
  previousChapter() {
    const index = this.chapterAt();
    if (index < 0) return;
    const start = this.chapters[index].start;
    this.jump(this.time - start > 3 || index === 0 ? start : this.chapters[index - 1].start);
  }

  nextChapter() {
    const index = this.chapterAt();
    if (index >= 0) this.jump(this.chapterEnd(index));
  }

  get speed() {
    return this.audio.defaultPlaybackRate;
  }

  set speed(value) {
    const speed = Math.round(Math.min(Math.max(value, slowest), fastest) * 100) / 100;
    this.audio.defaultPlaybackRate = speed;
    this.#applySpeed();
    this.#announce('speed');
  }

  #applySpeed() {
    this.audio.playbackRate = this.audio.defaultPlaybackRate;
  }

  /** 0 to 1, as the listener set it. */
  get volume() {
    return this.#volume;
  }

  set volume(value) {
    this.#volume = Math.min(Math.max(value, 0), 1);
    this.#muted = false;
    this.#applyVolume();
    this.#announce('volume');
  }

  get muted() {
    return this.#muted;
  }

  set muted(value) {
    this.#muted = value;
    this.#applyVolume();
    this.#announce('volume');
  }

  /** A factor of the sleep timer on the listener's volume. @param {number} value */
  set fade(value) {
    this.#fade = value;
    this.#applyVolume();
  }

  #applyVolume() {
    this.audio.volume = this.#volume * this.#fade;
    this.audio.muted = this.#muted;
  }

  #settle() {
    if (this.#state === 'stopped') return;
    const { audio } = this;
    if (!this.#engine) return;
    if (audio.ended) {
      this.#wanted = false;
      this.#set('ended');
    } else if (!audio.paused || this.#wanted) {
      this.#wanted = true; // also when the system's own controls started it
      this.#set(audio.readyState >= 3 && !audio.seeking && !audio.paused ? 'playing' : 'waiting');
    } else {
      this.#set('paused');
    }
  }

  /** @param {State} state */
  #set(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#announce('state');
  }

  /** @param {string} type */
  #announce(type) {
    this.dispatchEvent(new Event(type));
  }
}
