// SPDX-License-Identifier: Apache-2.0

// Fetches and decrypts segments of one order's playlist. Waits and tries again while the network is away; gives up only when
// the server refuses.

import { RequestError, getBytes, getText } from './api.js';
import { decryptorFor } from './decrypt.js';
import { parsePlaylist, segmentIV } from './playlist.js';

/** Refusals that another try cannot change; anything else may be a ticket that has run out. */
const final = new Set(['expired', 'revoked', 'returned', 'cancelled', 'not-started', 'concurrency']);

/**
 * Events: `trouble` (a request failed and is being tried again; `detail` is the RequestError), `recovered`.
 */
export class SegmentSource extends EventTarget {
  #address;
  #troubled = false;
  /** @type {Map<number, Promise<import('./decrypt.js').Decryptor>>} */
  #decryptors = new Map();

  /** @param {string} address of the playlist */
  constructor(address) {
    super();
    this.#address = address;
    /** @type {import('./playlist.js').Playlist|null} */
    this.playlist = null;
  }

  /** Fetches the playlist, again when it is already there. @param {AbortSignal} [signal] */
  async open(signal) {
    const text = await this.#persist(() => getText(this.#address, { signal }), signal);
    this.#decryptors.clear();
    this.playlist = parsePlaylist(text, new URL(this.#address, document.baseURI).href);
    return this.playlist;
  }

  /**
   * @param {number} n
   * @param {AbortSignal} signal
   * @returns {Promise<Uint8Array>} the segment as it was before encryption
   */
  async load(n, signal) {
    try {
      return await this.#attempt(n, signal);
    } catch (error) {
      if (signal.aborted || !mayBeStale(error)) throw error;
      await this.open(signal); // fresh tickets and keys, once
      return this.#attempt(n, signal);
    }
  }

  /** @param {number} n @param {AbortSignal} signal */
  async #attempt(n, signal) {
    const { playlist } = this;
    const address = new URL(playlist.uris[n], playlist.base).href;
    const fetched = this.#persist(() => getBytes(address, { signal }), signal);
    if (playlist.keyOf[n] < 0) return fetched;
    const [decrypt, data] = await Promise.all([this.#decryptor(playlist.keyOf[n], signal), fetched]);
    return decrypt(segmentIV(playlist, n), data);
  }

  /** The key is fetched once, in parallel with the first segment that needs it. @param {number} k @param {AbortSignal} signal */
  #decryptor(k, signal) {
    let made = this.#decryptors.get(k);
    if (!made) {
      const address = new URL(this.playlist.keys[k].uri, this.playlist.base).href;
      made = this.#persist(() => getBytes(address, { signal }), signal).then((key) => decryptorFor(key));
      made.catch(() => this.#decryptors.delete(k));
      this.#decryptors.set(k, made);
    }
    return made;
  }

  /**
   * Runs `task` until it succeeds or fails for good, waiting longer each time and not at all once the browser is online again.
   * @template T
   * @param {() => Promise<T>} task
   * @param {AbortSignal} [signal]
   * @returns {Promise<T>}
   */
  async #persist(task, signal) {
    for (let wait = 0.5; ; wait = Math.min(wait * 2, 15)) {
      try {
        const result = await task();
        if (this.#troubled) {
          this.#troubled = false;
          this.dispatchEvent(new Event('recovered'));
        }
        return result;
      } catch (error) {
        if (signal?.aborted || !(error instanceof RequestError) || !error.passes) throw error;
        this.#troubled = true;
        this.dispatchEvent(new CustomEvent('trouble', { detail: error }));
        await pause((error.retryAfter ?? wait * (0.75 + Math.random() / 2)) * 1000, signal);
      }
    }
  }
}

/** @param {unknown} error */
function mayBeStale(error) {
  if (!(error instanceof RequestError)) return true; // wrong padding: the key may have changed
  return error.kind === 'missing' || (error.kind === 'refused' && !final.has(error.reason));
}

/** @param {number} milliseconds @param {AbortSignal} [signal] @returns {Promise<void>} */
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal?.removeEventListener('abort', done);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener('online', done);
    signal?.addEventListener('abort', done);
  });
}
