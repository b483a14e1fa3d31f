// SPDX-License-Identifier: Apache-2.0

// Bookmarks: places worth finding again, each with a note.

import { getJSON, send } from './api.js';
import { byId, icon, make, setText } from './dom.js';
import { clock, spoken, when } from './format.js';
import { newest } from './newest.js';
import { openSheet, prepareSheet } from './sheet.js';
import { randomHex, recall, remember } from './store.js';

/**
 * @typedef {{id: string, seconds: number, note: string|null, createdAt: string}} Bookmark
 * @typedef {{list: (signal?: AbortSignal) => Promise<Bookmark[]>, add: (seconds: number, note: string|null) => Promise<Bookmark>, remove: (id: string) => Promise<unknown>}} Shelf
 *   where bookmarks are kept
 */

/** Kept by the server, for the reader's account. @param {string} order @returns {Shelf} */
export function accountBookmarks(order) {
  const path = `/v1/shelf/${order}/bookmarks`;
  return {
    list: async (signal) => (await getJSON(path, { signal })).bookmarks,
    add: (seconds, note) => send('POST', path, { seconds, note }),
    remove: (id) => send('DELETE', `${path}/${encodeURIComponent(id)}`),
  };
}

/** Bookmarks in this browser, for visitors: they share an account, but not their notes. @param {string} title @returns {Shelf} */
export function visitorBookmarks(title) {
  const key = `bookmarks.${title}`;
  const read = () => /** @type {Bookmark[]} */ (recall(key) ?? []);
  return {
    list: async () => read(),
    add: async (seconds, note) => {
      const added = { id: randomHex(8), seconds, note, createdAt: new Date().toISOString() };
      remember(key, [...read(), added]);
      return added;
    },
    remove: async (id) => remember(key, read().filter((bookmark) => bookmark.id !== id)),
  };
}

export class Bookmarks {
  #player;
  #shelf;
  #announce;
  #panel = byId('panel-bookmarks');
  /** @type {Bookmark[]|null} */
  #list = null;
  #asking = newest();
  #isAsking = false;
  /** What changed while a list is on its way, which may not know it: bookmarks that were added, and null for those removed, by id. @type {Map<string, Bookmark|null>} */
  #changes = new Map();
  /** The last removed bookmark, for undo. @type {Bookmark|null} */
  #removed = null;
  #place = 0;

  /**
   * @param {import('./player.js').Player} player
   * @param {Shelf} shelf
   * @param {(text: string) => void} announce
   */
  constructor(player, shelf, announce) {
    this.#player = player;
    this.#shelf = shelf;
    this.#announce = announce;
    prepareSheet(byId('bookmark-sheet'));
    byId('bookmark-open').addEventListener('click', () => this.ask());
    byId('bookmark-form').addEventListener('submit', () => this.#keep());
  }

  /** Opens the sheet for the place that plays now. */
  ask() {
    this.#place = this.#player.time;
    const chapter = this.#player.chapters[this.#player.chapterAt()]?.title;
    setText(byId('bookmark-place'), chapter ? `${clock(this.#place)} · ${chapter}` : clock(this.#place));
    /** @type {HTMLTextAreaElement} */ (byId('bookmark-note')).value = '';
    openSheet(byId('bookmark-sheet'));
  }

  async load() {
    this.#isAsking = true;
    this.#changes.clear();
    try {
      const list = await this.#asking((signal) => this.#shelf.list(signal));
      // a newer list was requested
      if (!list) return;
      this.#isAsking = false;
      const added = [...this.#changes.values()].filter((bookmark) => bookmark !== null);
      this.#list = [...list.filter(({ id }) => !this.#changes.has(id)), ...added];
      this.#show();
    } catch {
      this.#isAsking = false;
      if (this.#list) return this.#show();
      this.#panel.replaceChildren(make('p', { class: 'empty', text: 'Your bookmarks could not be loaded.' }), this.#again());
    }
  }

  #again() {
    return make('p', { class: 'empty' }, make('button', { type: 'button', class: 'button button-quiet', text: 'Try again', onclick: () => this.load() }));
  }

  async #keep() {
    const note = /** @type {HTMLTextAreaElement} */ (byId('bookmark-note')).value.trim();
    await this.#add(this.#place, note || null, `Bookmark saved at ${spoken(this.#place)}`);
  }

  /** @param {number} seconds @param {string|null} note @param {string} said */
  async #add(seconds, note, said) {
    try {
      const added = await this.#shelf.add(Math.round(seconds * 1000) / 1000, note);
      this.#removed = null;
      this.#changed(added.id, added);
      this.#announce(said);
      setText(byId('status'), '');
    } catch {
      setText(byId('status'), 'The bookmark could not be saved. Try again.');
    }
  }

  /** @param {Bookmark} bookmark */
  async #remove(bookmark) {
    try {
      await this.#shelf.remove(bookmark.id);
    } catch {
      setText(byId('status'), 'The bookmark could not be removed. Try again.');
      return;
    }
    this.#removed = bookmark;
    this.#changed(bookmark.id, null);
    this.#announce('Bookmark removed');
  }

  /**
   * Shows the loaded list. Without one, loads it, unless a request is running.
   * @param {string} id @param {Bookmark|null} added null if it was removed
   */
  #changed(id, added) {
    if (this.#isAsking) this.#changes.set(id, added);
    if (this.#list) {
      this.#list = this.#list.filter((other) => other.id !== id);
      if (!added) return this.#show(true);
      this.#list.push(added);
      this.#show();
    } else if (!this.#isAsking) this.load();
  }

  /** @param {boolean} [isFocused] whether the undo button has the focus */
  #show(isFocused = this.#panel.querySelector('.undo button') === document.activeElement) {
    const removed = this.#removed;
    const list = [...(this.#list ?? [])].sort((a, b) => a.seconds - b.seconds);
    const undo = removed && make('p', { class: 'undo' }, 'Bookmark removed. ', make('button', {
      type: 'button', class: 'link', text: 'Restore',
      onclick: () => this.#add(removed.seconds, removed.note, 'Bookmark restored'),
    }));
    const rows = list.map((bookmark) => make('li', { class: 'row-pair' },
      make('button', { type: 'button', class: 'row row-tall', onclick: () => this.#player.playFrom(bookmark.seconds) },
        make('span', { class: 'row-title', dir: 'auto', text: bookmark.note || this.#chapter(bookmark.seconds) }),
        make('span', { class: 'row-sub', text: [clock(bookmark.seconds), bookmark.note ? this.#chapter(bookmark.seconds) : '', when(new Date(bookmark.createdAt))].filter(Boolean).join(' · ') })),
      make('button', { type: 'button', class: 'round', 'aria-label': `Remove the bookmark at ${spoken(bookmark.seconds)}`, onclick: () => this.#remove(bookmark) }, icon('trash'))));
    this.#panel.replaceChildren(...[
      undo,
      rows.length > 0 ? make('ul', { class: 'rows' }, ...rows) : null,
      rows.length === 0 && !undo ? make('p', { class: 'empty', text: 'No bookmarks yet. Add one with the Bookmark button, or press B.' }) : null,
    ].filter((node) => node !== null));
    if (isFocused) undo?.querySelector('button')?.focus();
  }

  /** @param {number} seconds */
  #chapter(seconds) {
    return this.#player.chapters[this.#player.chapterAt(seconds)]?.title ?? 'Bookmark';
  }
}
