// SPDX-License-Identifier: Apache-2.0

// Earlier places: every stretch that was listened to, on any device, newest first, each a way back.

import { getJSON } from './api.js';
import { byId, make } from './dom.js';
import { clock, length, when } from './format.js';
import { newest } from './newest.js';

/**
 * @typedef {{startUtc: string, endUtc: string, startPosition: number, endPosition: number, deviceId?: string|null, deviceName?: string|null}} Interval
 * @typedef {{from: number, to: number, start: number, end: number, device: string|null}} Stretch
 *   from and to: milliseconds since 1970. start and end: seconds of the book.
 */

/** A pause shorter than this, in milliseconds, does not end a stretch. */
const breath = 180_000;
/** Seconds of a stretch not worth listing. */
const least = 5;
/** The number of listed sessions, and of pages of intervals to read for them: a night is one session of six pages. */
const most = 50;
const pages = 20;

/**
 * Joins intervals that continue one another.
 * @param {Interval[]} intervals in any order
 * @returns {Stretch[]} newest first
 */
export function stretches(intervals) {
  const sorted = intervals
    .map(({ startUtc, endUtc, startPosition, endPosition, deviceId, deviceName }) => ({
      from: Date.parse(startUtc), to: Date.parse(endUtc), start: startPosition, end: endPosition,
      device: deviceName ?? null, id: deviceId ?? deviceName ?? null,
    }))
    .filter(({ start, end }) => end > start)
    .sort((a, b) => a.from - b.from || a.to - b.to);
  /** @type {(Stretch & {id: string|null})[]} */
  const joined = [];
  for (const next of sorted) {
    const last = joined.at(-1);
    if (last && last.id === next.id && next.from - last.to < breath && Math.abs(next.start - last.end) <= 2) {
      last.to = Math.max(last.to, next.to);
      last.end = next.end;
    } else {
      joined.push(next);
    }
  }
  return joined.filter(({ start, end }) => end - start >= least).reverse().map(({ id: _, ...stretch }) => stretch);
}

export class EarlierPlaces {
  #player;
  #path;
  #panel = byId('panel-places');
  #asking = newest();

  /**
   * @param {import('./player.js').Player} player
   * @param {string} order
   */
  constructor(player, order) {
    this.#player = player;
    this.#path = `/v2/states/history/${order}?limit=1000`;
  }

  async load() {
    try {
      const all = await this.#asking((signal) => this.#intervals(signal));
      if (all) this.#show(stretches(all).slice(0, most));
    } catch {
      this.#panel.replaceChildren(make('p', { class: 'empty', text: 'The list could not be loaded.' }),
        make('p', { class: 'empty' }, make('button', { type: 'button', class: 'button button-quiet', text: 'Try again', onclick: () => this.load() })));
    }
  }

  /** The newest intervals, as many as the list takes. @param {AbortSignal} signal */
  async #intervals(signal) {
    /** @type {Interval[]} */
    const all = [];
    let next = '';
    for (let page = 0; page < pages; page++) {
      const answer = await getJSON(this.#path + next, { signal });
      all.push(...answer.intervals);
      if (!answer.next || stretches(all).length > most) break;
      next = `&after=${encodeURIComponent(answer.next)}`;
    }
    return all;
  }

  /** @param {Stretch[]} list */
  #show(list) {
    if (list.length === 0) {
      this.#panel.replaceChildren(make('p', { class: 'empty', text: 'Positions where you stopped listening appear here, from all your devices.' }));
      return;
    }
    const rows = list.map(({ from, to, start, end, device }) => {
      const chapter = this.#player.chapters[this.#player.chapterAt(end)]?.title;
      return make('li', {}, make('button', { type: 'button', class: 'row row-tall', onclick: () => this.#player.playFrom(end) },
        make('span', { class: 'row-title', dir: 'auto', text: chapter ? `${clock(end)} · ${chapter}` : clock(end) }),
        make('span', { class: 'row-sub', text: [sentence(when(new Date(to))), `listened ${length(Math.max(60, Math.min(end - start, (to - from) / 1000)))}`, device].filter(Boolean).join(' · ') })));
    });
    this.#panel.replaceChildren(make('ul', { class: 'rows' }, ...rows));
  }
}

/** @param {string} text */
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
