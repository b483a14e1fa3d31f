// SPDX-License-Identifier: Apache-2.0

// The bookshelf: active audiobooks, the last used first; publications; ended loans, below.

import { getJSON } from './api.js';
import { coverOf } from './cover.js';
import { byId, icon, make, setText } from './dom.js';
import { length, list, until, when } from './format.js';
import { languageTag } from './language.js';
import { newest } from './newest.js';
import { hideNotice, showNotice } from './notice.js';
import { signOut } from './outbox.js';
import { readingPage, searchReading, showMoreReading, showReading } from './reading.js';
import { noticeForError } from './refusals.js';

/** With more titles than this the shelf can be searched. */
const few = 8;
/** Milliseconds from the last keystroke to the request. */
const pause = 200;
/** The number of editions that match the search; null while it is loading. */
let readable = /** @type {number|null} */ (0);

/** @typedef {any} Item of `GET /v1/shelf` */

/** Titles as people sort them: “Book 2” before “Book 10”, capitals and accents aside. */
const byTitle = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
const asking = newest();

/** @param {Item} item @param {Date} now */
const isPast = (item, now) => ['expired', 'revoked', 'returned', 'cancelled'].includes(item.state)
  || (item.endsAt !== null && new Date(item.endsAt) <= now);
/** @param {Item} item @param {Date} now */
const isFuture = (item, now) => item.startsAt !== null && new Date(item.startsAt) > now;
/** @param {Item} item */
const lastHeard = (item) => (item.position ? Date.parse(item.position.lastUpdated) : 0);

/** All that the shelf has, however many pages it comes in. */
/** @param {AbortSignal} signal */
async function wholeShelf(signal) {
  const shelf = await getJSON('/v1/shelf', { signal });
  for (let { next } = shelf; next;) {
    const page = await getJSON(`/v1/shelf?after=${encodeURIComponent(next)}`, { signal });
    shelf.items.push(...page.items);
    next = page.next;
  }
  return shelf;
}

async function load() {
  try {
    const answers = await asking((signal) => Promise.all([wholeShelf(signal), readingPage(signal)]));
    if (!answers) return;
    const [{ account, items }, reading] = answers;
    hideNotice();
    showReading(reading);
    readable = reading.total;
    show(account, items, reading.total);
  } catch (error) {
    byId('continue').hidden = true;
    byId('titles').hidden = true;
    byId('reading').hidden = true;
    showNotice(noticeForError(error, null), () => location.reload());
  } finally {
    byId('shelf').removeAttribute('aria-busy');
    byId('opening').hidden = true;
  }
}

/** @param {{name: string, guest?: boolean}} account @param {Item[]} items @param {number} editions how many there are */
function show(account, items, editions) {
  const now = new Date();
  byId('account').replaceChildren(make('span', { class: 'visually-hidden', text: 'Signed in as ' }),
    account.guest ? account.name : make('a', { href: '/account', title: 'Your account', text: account.name }));
  byId('sign-in').hidden = account.guest !== true;
  byId('sign-out').hidden = account.guest === true;
  const present = items.filter((item) => !isPast(item, now));
  const past = items.filter((item) => isPast(item, now));
  present.sort((a, b) => Number(isFuture(a, now)) - Number(isFuture(b, now)) || lastHeard(b) - lastHeard(a) || byTitle.compare(a.title.title, b.title.title));

  const first = present.find((item) => item.position && !isFinished(item) && !isFuture(item, now));
  byId('continue').hidden = !first;
  if (first) byId('continue-item').replaceChildren(hero(first, now));
  const rest = present.filter((item) => item !== first);
  byId('items').replaceChildren(...rest.map((item) => card(item, now)));
  byId('titles').hidden = rest.length === 0 && Boolean(first || editions);
  setText(byId('titles-heading'), first ? 'Also on your shelf' : 'On your shelf');
  if (present.length === 0 && !editions) byId('items').replaceChildren(empty(past));
  byId('find-box').hidden = rest.length + editions <= few;
  if (byId('titles').hidden && editions) byId('reading').querySelector('.section-row')?.append(byId('find-box'), byId('found'));
  find();

  byId('past').hidden = past.length === 0;
  // if nothing else is left, show the ended loans
  if (present.length === 0 && !editions) /** @type {HTMLDetailsElement} */ (byId('past')).open = true;
  setText(byId('past-count'), String(past.length));
  byId('past-items').replaceChildren(...past.map((item) => card(item, now)));
}

/** @param {Item[]} past what has ended */
function empty(past) {
  const [heading, text] = past.length === 0 ? ['Your shelf is empty', 'Titles that your library lends you or your shop sells you appear here.']
    : past.every((item) => item.kind === 'loan') ? [past.length === 1 ? 'Your loan has ended' : 'Your loans have ended', 'Borrow a title again, and you can continue where you stopped.']
    : ['Nothing to listen to at the moment', 'Your orders have ended. Your places are kept.'];
  return make('li', { class: 'empty-shelf' }, make('p', { class: 'empty-title', text: heading }), make('p', { text }));
}

/** @param {Item} item */
const isFinished = (item) => item.position !== null && item.title.duration - item.position.seconds < 5;

/** @param {Item} item */
const share = (item) => Math.min(1, (item.position?.seconds ?? 0) / item.title.duration);

/** @param {Item} item */
function progress(item) {
  const bar = make('span', { class: 'meter', 'aria-hidden': 'true' }, make('span', {}));
  bar.style.setProperty('--fill', `${share(item) * 100}%`);
  return bar;
}

/** @param {Item} item */
function remaining(item) {
  if (isFinished(item)) return 'Finished';
  if (!item.position) return length(item.title.duration);
  return `${length(item.title.duration - item.position.seconds)} left`;
}

/** What to know about the order, in a few words. @param {Item} item @param {Date} now */
function term(item, now) {
  const starts = item.startsAt && new Date(item.startsAt);
  const ends = item.endsAt && new Date(item.endsAt);
  const loan = item.kind === 'loan';
  switch (item.state) {
    case 'revoked': return { text: 'Withdrawn', tone: 'over' };
    case 'returned': return { text: 'Returned', tone: 'over' };
    case 'cancelled': return { text: 'Cancelled', tone: 'over' };
    default:
  }
  if (item.state === 'expired' || (ends && ends <= now)) return { text: `${loan ? 'Loan ended' : 'Ended'}${ends ? ` ${when(ends, now)}` : ''}`, tone: 'over' };
  if (starts && starts > now) return { text: `Begins ${when(starts, now)}`, tone: 'soon' };
  if (ends) return { text: `${loan ? 'Loan ends' : 'Ends'} ${until(ends, now)}`, tone: ends.getTime() - now.getTime() < 3 * 86_400_000 ? 'soon' : 'calm' };
  return null;
}

/** @param {Item} item @param {Date} now */
function badge(item, now) {
  const words = term(item, now);
  return words && make('p', { class: `badge badge-${words.tone}`, text: words.text });
}

/** @param {Item} item */
const address = (item) => `/listen/${encodeURIComponent(item.order)}`;

/** @param {Item} item @param {Date} now */
function card(item, now) {
  const { title } = item;
  return make('li', { class: isPast(item, now) ? 'card card-over' : 'card', 'data-find': `${title.title} ${title.subtitle ?? ''} ${title.authors.join(' ')} ${title.narrators.join(' ')}`.toLowerCase() },
    coverOf(title),
    item.position && !isPast(item, now) ? progress(item) : make('span', { class: 'meter-space' }),
    make('h3', { lang: languageTag(title.language), dir: 'auto' }, make('a', { href: address(item), text: title.title })),
    make('p', { class: 'card-author', dir: 'auto', text: list(title.authors) }),
    make('p', { class: 'card-length', text: isPast(item, now) ? '' : remaining(item) }),
    badge(item, now));
}

/** @param {Item} item @param {Date} now */
function hero(item, now) {
  const { title } = item;
  return make('article', { class: 'hero' },
    coverOf(title, { eager: true }),
    make('div', { class: 'hero-text' },
      make('h3', { lang: languageTag(title.language), dir: 'auto' }, make('a', { href: address(item), text: title.title })),
      make('p', { class: 'card-author', dir: 'auto', text: list(title.authors) }),
      make('div', { class: 'hero-progress' }, progress(item), make('p', { class: 'card-length', text: `${Math.round(share(item) * 100)}% · ${remaining(item)}` })),
      make('p', { class: 'hero-actions' },
        make('a', { class: 'button', href: `${address(item)}#continue` }, icon('play'), 'Continue'),
        make('span', { class: 'quiet', text: `Last heard ${when(new Date(item.position.lastUpdated), now)}` })),
      badge(item, now)));
}

let typed = 0;

/** Shows only matches of every search word: titles immediately, editions after the server's response. */
function search() {
  clearTimeout(typed);
  const { value } = /** @type {HTMLInputElement} */ (byId('find'));
  if (!byId('reading').hidden) {
    readable = null;
    typed = setTimeout(async () => {
      try {
        const total = await searchReading(value.trim());
        if (total === null) return;
        readable = total;
        find();
      } catch (error) {
        showNotice(noticeForError(error, null), () => location.reload());
      }
    }, pause);
  }
  find();
}

function find() {
  const { value } = /** @type {HTMLInputElement} */ (byId('find'));
  const words = value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = readable ?? 0;
  for (const entry of byId('items').children) {
    const text = entry.getAttribute('data-find') ?? '';
    const matches = words.every((word) => text.includes(word));
    /** @type {HTMLElement} */ (entry).hidden = !matches;
    if (matches) found += 1;
  }
  setText(byId('found'), words.length === 0 || readable === null ? '' : found === 0 ? 'Nothing on your shelf matches.' : `${found} title${found === 1 ? '' : 's'}`);
}

byId('find').addEventListener('input', search);
byId('more').addEventListener('click', async () => {
  const before = byId('editions').children.length;
  await showMoreReading().catch((error) => showNotice(noticeForError(error, null), () => location.reload()));
  find();
  // The button is further down now, or gone: move the focus to the first loaded entry.
  /** @type {HTMLElement|null|undefined} */ (byId('editions').children[before]?.querySelector('a'))?.focus();
});
byId('sign-out').addEventListener('click', signOut);
load();
// A shelf that comes back from the browser's memory may have new places on it.
addEventListener('pageshow', (event) => { if (event.persisted) load(); });
