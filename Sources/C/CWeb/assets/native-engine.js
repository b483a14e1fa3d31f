// SPDX-License-Identifier: Apache-2.0

// Plays the playlist with the browser's own HLS (Safari, iPhone), from the transport-stream form.

import { getBytes, getText } from './api.js';
import { parsePlaylist } from './playlist.js';

/** Whether the browser says that it can. @param {HTMLAudioElement} audio */
export function playsHLS(audio) {
  return audio.canPlayType('application/vnd.apple.mpegurl') !== '';
}

/**
 * Events: `failed` (`detail` is the error): nothing more will play.
 */
export class NativeEngine extends EventTarget {
  #audio;
  #address;
  #closed = new AbortController();
  /** @type {number|null} */
  #pending;

  /**
   * @param {HTMLAudioElement} audio
   * @param {string} address of the playlist in its default form
   * @param {number} time seconds of the stream to start at
   */
  constructor(audio, address, time) {
    super();
    this.#audio = audio;
    this.#address = address;
    this.#pending = time;
    this.appended = false;
  }

  async start() {
    const { signal } = this.#closed;
    const audio = this.#audio;
    audio.addEventListener('loadedmetadata', () => {
      this.appended = true;
      const time = this.#pending;
      this.#pending = null;
      if (time) audio.currentTime = time;
    }, { signal });
    audio.addEventListener('error', () => this.#explain(), { signal });
    audio.preload = 'none'; // fetching the key counts as listening
    audio.src = this.#address;
  }

  /** Seconds of the stream. */
  get time() {
    return this.#pending ?? this.#audio.currentTime;
  }

  /** @param {number} time seconds of the stream */
  seek(time) {
    if (this.#pending !== null) this.#pending = time;
    else this.#audio.currentTime = time;
  }

  close() {
    this.#closed.abort();
    this.#audio.removeAttribute('src');
    this.#audio.load();
  }

  /** The element says only that it failed: the same requests say why. */
  async #explain() {
    let reason = this.#audio.error ?? new Error('the audio element failed');
    try {
      const playlist = parsePlaylist(await getText(this.#address), new URL(this.#address, document.baseURI).href);
      for (const { uri } of playlist.keys.slice(0, 1)) (await getBytes(new URL(uri, playlist.base).href)).fill(0);
    } catch (error) {
      reason = error;
    }
    if (!this.#closed.signal.aborted) this.dispatchEvent(new CustomEvent('failed', { detail: reason }));
  }
}
