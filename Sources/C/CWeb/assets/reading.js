// SPDX-License-Identifier: Apache-2.0

// Readable editions: EPUB and PDF files, newest issue first, in pages.

import { getJSON } from './api.js';
import { coverOf } from './cover.js';
import { byId, make, setText } from './dom.js';
import { calendarDay, fileSize, list } from './format.js';
import { languageTag } from './language.js';
import { newest } from './newest.js';

/** @typedef {any} Edition of `GET /v1/shelf/editions` */
/** @typedef {{editions: Edition[], total: number, nextPage: number|null}} ReadingPage */

/** @type {number|null} */
let nextPage = null;
/** What is looked for. */
let words = '';
const asking = newest();

/** @param {AbortSignal} [signal] @param {number} [number] @returns {Promise<ReadingPage>} */
export const readingPage = (signal, number = 1) => getJSON(`/v1/shelf/editions?page=${number}${words && `&q=${encodeURIComponent(words)}`}`, { signal });

/** Shows the first page. @param {ReadingPage} page */
export function showReading(page) {
  byId('reading').hidden = page.total === 0;
  begin(page);
}

/**
 * Shows only editions with these words.
 * @param {string} asked
 * @returns {Promise<number|null>} the number of matching editions; null if another search started meanwhile
 */
export async function searchReading(asked) {
  words = asked;
  // the list that is left has no next page any more
  nextPage = null;
  byId('more').hidden = true;
  const page = await asking((signal) => readingPage(signal));
  if (!page) return null;
  begin(page);
  return page.total;
}

/** @param {ReadingPage} page */
function begin(page) {
  byId('editions').replaceChildren();
  setText(byId('reading-count'), String(page.total));
  append(page);
}

/** @param {ReadingPage} page */
function append(page) {
  const grid = byId('editions');
  // What came out meanwhile moves everything one place on.
  const known = new Set([...grid.children].map((entry) => entry.getAttribute('data-id')));
  grid.append(...page.editions.filter((edition) => !known.has(edition.id)).map((edition, at) => card(edition, `about-${known.size + at}`)));
  nextPage = page.nextPage;
  byId('more').hidden = nextPage === null;
}

/** Shows the next page, if there is one. */
export async function showMoreReading() {
  if (nextPage === null) return;
  const number = nextPage;
  const page = await asking((signal) => readingPage(signal, number));
  if (page) append(page);
}

/** What a click does, and with what. @param {Edition} edition */
function action(edition) {
  switch (edition.kind) {
    case 'ebook': return `Download EPUB · ${fileSize(edition.bytes)}`;
    case 'pdf': return `Open PDF · ${fileSize(edition.bytes)}`;
    default: return `Read · ${calendarDay(new Date(edition.issuedAt))}`;
  }
}

/** @param {Edition} edition @param {string} about */
function card(edition, about) {
  return make('li', { class: 'card card-tall', 'data-id': edition.id },
    coverOf(edition),
    make('h3', { lang: languageTag(edition.language), dir: 'auto' }, make('a', { href: edition.address, 'aria-describedby': about, text: edition.title })),
    make('p', { class: 'card-author', dir: 'auto', text: list(edition.authors) }),
    make('p', { class: 'card-length', id: about, text: action(edition) }));
}
