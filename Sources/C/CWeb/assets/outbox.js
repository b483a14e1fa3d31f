// SPDX-License-Identifier: Apache-2.0

// Intervals to send to the server. They stay in the browser's storage until the server has them, so that neither a tunnel nor a
// closed lid loses a place. Sending one twice does no harm: the server keeps one.

import { RequestError, send } from './api.js';
import { forgetReader, randomHex, recall, remember, remembered } from './store.js';

const shelf = 'outbox.';
/** Intervals in one request: well under the 64 kB that a closing page may still send. */
const batch = 100;
/** Kept at most: 27 hours of listening without a network. */
const capacity = 20_000;

export class Outbox {
  #key = shelf + randomHex(6);
  /** @type {import('./positions.js').Interval[]} */
  #waiting = [];
  /** @type {Promise<void>|null} */
  #sending = null;
  #retry = 0;
  #delay = 5;

  constructor() {
    // Each tab has its own box; remains of an earlier visit are taken over.
    for (const key of remembered(shelf)) {
      const left = recall(key);
      if (Array.isArray(left)) this.#waiting.push(...left);
      remember(key, null);
    }
    this.#save();
    addEventListener('online', () => this.flush());
  }

  get isEmpty() {
    return this.#waiting.length === 0;
  }

  /** @param {import('./positions.js').Interval} interval */
  add(interval) {
    this.#waiting.push(interval);
    if (this.#waiting.length > capacity) this.#waiting.splice(0, this.#waiting.length - capacity);
    this.#save();
  }

  /** Sends what waits; resolves when the server has it or did not answer. */
  flush() {
    clearTimeout(this.#retry);
    this.#sending ??= this.#drain().finally(() => { this.#sending = null; });
    return this.#sending;
  }

  /** Sends the newest intervals while the page is going away. */
  flushOnLeave() {
    if (!this.isEmpty) send('POST', '/v2/states/', this.#waiting.slice(-batch), { keepalive: true }).catch(() => {});
  }

  async #drain() {
    while (!this.isEmpty) {
      const sent = this.#waiting.slice(0, batch);
      try {
        await send('POST', '/v2/states/', sent);
      } catch (error) {
        // A batch that the server will never take would block all others.
        if (!(error instanceof RequestError) || error.kind !== 'other') {
          this.#later();
          return;
        }
      }
      // Accepted, already known, or refused individually: the server has decided on each.
      const done = new Set(sent);
      this.#waiting = this.#waiting.filter((interval) => !done.has(interval));
      this.#save();
      this.#delay = 5;
    }
  }

  #later() {
    this.#retry = setTimeout(() => this.flush(), this.#delay * 1000);
    this.#delay = Math.min(this.#delay * 2, 120);
  }

  #save() {
    remember(this.#key, this.isEmpty ? null : this.#waiting);
  }
}

/** Ends the session, and leaves nothing about the reader in this browser. */
export async function signOut() {
  await new Outbox().flush();
  await send('POST', '/sign-out', {}).catch(() => {}); // the response is the page for signed-out users
  forgetReader();
  location.assign('/');
}
