// What may be read: editions, EPUB and PDF files, the newest issue first, a page of them at once.

import { getJSON } from './api.js';
import { coverOf } from './cover.js';
import { byId, make, setText } from './dom.js';
import { calendarDay, fileSize, list } from './format.js';

/** @typedef {any} Edition of `GET /v1/shelf/editions` */
/** @typedef {{editions: Edition[], total: number, nextPage: number|null}} ReadingPage */

/** @type {number|null} */
let nextPage = null;

/** @param {number} [number] @returns {Promise<ReadingPage>} */
export const readingPage = (number = 1) => getJSON(`/v1/shelf/editions?page=${number}`);

/** Shows the first page. @param {ReadingPage} page */
export function showReading(page) {
  byId('reading').hidden = page.total === 0;
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

/** Shows the next page, if there is one. Whether there was one. */
export async function showMoreReading() {
  if (nextPage === null) return false;
  const number = nextPage;
  const page = await readingPage(number);
  if (nextPage === number) append(page);
  return true;
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
  const words = [edition.title, edition.subtitle ?? '', ...edition.authors].join(' ').toLowerCase();
  return make('li', { class: 'card card-tall', 'data-find': words, 'data-id': edition.id },
    coverOf(edition),
    make('h3', { lang: edition.language }, make('a', { href: edition.address, 'aria-describedby': about, text: edition.title })),
    make('p', { class: 'card-author', text: list(edition.authors) }),
    make('p', { class: 'card-length', id: about, text: action(edition) }));
}
