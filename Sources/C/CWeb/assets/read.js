// SPDX-License-Identifier: Apache-2.0

// The reader's page: one publication, its contents, and a view at the current position.

import { byId, make, setText } from './dom.js';
import { ask, tell } from './read-api.js';
import { Book, fragmentOf, normal } from './read-book.js';
import { DrawnView } from './read-drawn.js';
import { Keys } from './read-keys.js';
import { followLicense } from './read-license.js';
import { Look } from './read-look.js';
import { MediaView } from './read-media.js';
import { Notes } from './read-notes.js';
import { PagesView } from './read-pages.js';
import { PictureView } from './read-picture.js';
import { copy, print } from './read-rights.js';
import { prepareSearch } from './read-search.js';
import { openSheet, prepareSheet } from './sheet.js';

const answer = await ask('book').catch((error) => {
  byId('opening').textContent = `The publication cannot be shown: ${error.message}. Start the reader again.`;
  throw error;
});
const book = new Book(answer);
const stated = answer.manifest.metadata.readingProgression;
/** Whether the next page is on the left: of the buttons, arrows, presses and swipes alike. From the publisher's metadata, or else from the documents' direction. */
let isBackward = false;
let isDecided = false;
function progress(isLeft) {
  isDecided = true;
  isBackward = isLeft;
  document.documentElement.dataset.progression = isLeft ? 'rtl' : 'ltr';
}
progress(stated === 'rtl');
isDecided = stated === 'rtl' || stated === 'ltr';
const sheets = ['contents', 'search', 'notes', 'look', 'note', 'print', 'copy', 'help', 'link'];
const dialog = (name) => /** @type {HTMLDialogElement} */ (byId(`${name}-sheet`));

let index = 0;
/** An address outside the reading order, such as a page of notes. */
let aside = '';
/** @type {import('./read-book.js').Locator|null} */
let place = answer.record.place ?? null;
let chosen = null;
let toPrint = 1;

let silence = 0;
function say(text) {
  clearTimeout(silence);
  // outside an open sheet nothing is announced
  const places = [byId('said'), ...(dialog('notes').open ? [byId('notes-said')] : [])];
  for (const place of places) setText(place, text);
  silence = setTimeout(() => { for (const place of places) setText(place, ''); }, 6000);
}

// MARK: the place

let saving = 0;
let isSaved = true;
function save(isLast = false) {
  clearTimeout(saving);
  if (isSaved || !place) return;
  isSaved = true;
  tell('place', 'PUT', place, isLast).catch(() => { isSaved = false; });
}

/** Shows the current position; only positions reached by the reader are stored, not changes by another window or a script. */
function moved({ progression, text, fragments, page, pages: total, isMoved }) {
  if (aside) return;
  const link = book.order[index];
  const all = book.total(index, progression);
  const share = `${Math.round(100 * (total ? book.total(index, (page + 1) / total) : all))} %`;
  const [number, count] = document.documentElement.dataset.kind === 'image' ? [index, book.order.length] : [page, total];
  setText(byId('progress'), count ? `Page ${number + 1} of ${count} · ${share}` : share);
  byId('meter').setAttribute('value', String(all));
  if (!isMoved) return;
  place = {
    href: link.href,
    type: link.type ?? 'application/xhtml+xml',
    title: book.headingOf(index) || undefined,
    locations: { progression, totalProgression: all, position: book.position(index, progression), ...(fragments ? { fragments } : {}) },
    ...(text?.highlight ? { text } : {}),
  };
  isSaved = false;
  clearTimeout(saving);
  saving = setTimeout(save, 300);
}
/** The place that is kept, to be shown once more. */
const kept = () => ({ text: place?.text, progression: place?.locations?.progression, fragment: place?.locations?.fragments?.[0], isKept: true });
addEventListener('pagehide', () => save(true));
document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'hidden') save(true); });

/** Whether the reader does something now, and not a script of the publication by itself. What the reader did in the frame is known a little later than what the frame says. */
function isActing() {
  if (navigator.userActivation?.isActive ?? true) return Promise.resolve(true);
  // one wait for all requests meanwhile
  acting ??= waitForAct().finally(() => { acting = null; });
  return acting;
}
/** @type {Promise<boolean>|null} */
let acting = null;
async function waitForAct() {
  for (let tries = 0; !navigator.userActivation.isActive && tries < 50; tries++) await new Promise((resolve) => setTimeout(resolve, 20));
  return navigator.userActivation.isActive;
}

/** Whether what the reader did last has been good for a copy. */
let isSpent = false;
let looking = 0;
let copied = -Infinity;
/** Milliseconds longer than any browser's user activation: activation that late after a copy is a new act, which allows another copy. */
const longestAct = 6000;
/** One copy for a gesture: a user activation lasts for seconds, and a script of the publication could repeat the request. */
async function copyFrom(text) {
  if (!(await isActing())) return say('Not copied: the browser registered no key press or click. Use the button “Copy” next to the selection.');
  if (dialog('copy').open) return;
  const now = performance.now();
  if (book.isCounted ? isSpent && now - copied < longestAct : now - copied < 1000) return say('Not copied a second time. Use the button “Copy” next to the selection.');
  copied = now;
  isSpent = true;
  clearInterval(looking);
  looking = setInterval(() => {
    if (navigator.userActivation?.isActive) return;
    clearInterval(looking);
    isSpent = false;
  }, 200);
  take(text);
}

/** Maximum length of a highlight in a protected publication, in characters: exporting highlights is not counted as copying. */
const muchToMark = 1000;
/** Characters that are copied without a question. */
const muchToCopy = 2000;
let toCopy = '';
/** Copies, and confirms first if that uses up much. The selected text comes from the untrusted document. */
function take(text) {
  const letters = [...text];
  if (!book.isCounted || letters.length <= muchToCopy) return copyNow(text);
  toCopy = text;
  setText(byId('copy-count'), `${letters.length.toLocaleString('en')} characters. They count towards the publisher’s copy limit.`);
  openSheet(dialog('copy'));
}
const copyNow = (text) => copy(book, text, say).finally(() => (drawn.isOpen ? drawn : pages).focus());

// MARK: views

const pages = new PagesView(book.pages, {
  place: (message) => moved({ ...message, text: message.quote }),
  ready: (message) => {
    // of the first document that is shown: a chapter in another script turns no book around
    if (!aside && !isDecided) progress(message.isBackward);
    opened();
    if (!document.querySelector('dialog[open]')) pages.focus();
  },
  loaded: () => opened(),
  paper: () => hasPaper(),
  edge: (message) => step(message.by),
  side: (message) => toSide(message.by),
  press: (message) => { if (message.at < 0.15) toSide(-1); else if (message.at > 0.85) toSide(1); },
  strayed: () => open(index, place?.href === book.order[index].href ? kept() : {}),
  selection: (message) => select(message.exact ? { ...message, exact: message.exact.slice(0, book.isCounted ? muchToMark : undefined) } : null),
  copy: (message) => copyFrom(message.content),
  link: (message) => follow(message.href),
  mark: async (message) => { if (await isActing()) notes.edit(message.id); },
  // Escape alone is no sign that the reader does something
  key: async (message) => { if (message.key === 'Escape' || await isActing()) press(message.key, message.isControl); },
  seen: (message) => { if (isPrintWanted) askToPrint(message); },
});
const media = new MediaView(book, moved, () => step(1));
const look = new Look(answer.preferences, () => { pages.send('look', { look: look.values }); drawn.fit(); pictures.refit(); });
const pictures = new PictureView(() => look.fit, { turn: (by) => turn(by), side: (by) => toSide(by), isBackward: () => isBackward });
const drawn = new DrawnView(book.language, () => look.size / 100, {
  moved,
  opened: () => opened(),
  edge: (by) => step(by),
  problem: (text) => say(`${text[0].toUpperCase()}${text.slice(1)}. The page is shown without them.`),
  selection: (text) => select(text.trim() ? { content: text } : null),
});
const notes = new Notes(answer.record.annotations, {
  changed: () => pages.send('marks', { annotations: notes.marksOf(current()) }),
  go: (target) => { closeSheets(); goTo(target); },
  headingOf: (href) => book.headingAt(href),
  say,
});

const keys = new Keys([
  { keys: ['t'], shown: 'T', text: 'Contents', act: () => openSheet(dialog('contents')) },
  { keys: ['s', '/'], shown: 'S or /', text: 'Search', of: 'document', act: () => openSheet(dialog('search')) },
  { keys: ['n'], shown: 'N', text: 'Highlights and notes', of: 'document', act: () => openSheet(dialog('notes')) },
  { keys: ['z'], shown: 'Z', text: 'Whole page, fit to width, actual size', of: 'image', act: () => say(`${look.nextFit()}.`) },
  { keys: ['a'], shown: 'A', text: 'Appearance', act: () => openSheet(dialog('look')) },
  { keys: ['+'], shown: '+', text: 'Larger text', act: () => look.resize(1) },
  { keys: ['-'], shown: '−', text: 'Smaller text', act: () => look.resize(-1) },
  { keys: ['?'], shown: '?', text: 'These keys', act: () => openSheet(dialog('help')) },
], look.hasKeys, (isOn) => look.useKeys(isOn));

const current = () => aside || (book.order[index]?.href ?? '');

function open(at, to = {}, besides = '') {
  index = at;
  aside = besides;
  select(null);
  document.documentElement.dataset.state = 'opening';
  const link = book.order[index];
  const kind = aside ? 'document' : book.kindOf(link);
  const heading = (aside && book.headingAt(aside)) || book.headingOf(index);
  document.documentElement.dataset.kind = kind;
  document.title = heading && heading !== book.title ? `${heading} · ${book.title}` : book.title;
  setText(byId('chapter'), heading);
  byId('back').hidden = !aside;
  const hasPages = kind === 'document' || kind === 'drawn';
  byId('earlier').toggleAttribute('disabled', index === 0 && !hasPages);
  byId('later').toggleAttribute('disabled', index === book.order.length - 1 && !hasPages);
  byId('contents-list').querySelector('[aria-current]')?.removeAttribute('aria-current');
  byId('contents-list').querySelector(`[data-index="${index}"]`)?.setAttribute('aria-current', 'true');
  media.close();
  drawn.close();
  pictures.close();
  if (kind === 'document') {
    pages.open(current(), heading || book.title, {
      look: look.values, to, annotations: notes.marksOf(current()), isFixed: !aside && book.isFixed(link), isCounted: book.isCounted,
    });
    pages.focus();
  } else if (kind === 'drawn') {
    pages.close();
    drawn.open(link, heading || book.title, to);
    if (!document.querySelector('dialog[open]')) drawn.focus();
  } else {
    pages.close();
    if (kind === 'image') {
      pictures.open(book.publication + link.href.replace(/^\/+/, '').replace(/#.*$/, ''), heading || `Page ${index + 1}`, to);
      moved({ progression: 0, page: 0, pages: 1, isMoved: !to.isKept });
      if (!document.querySelector('dialog[open]')) pictures.focus();
    } else media.open(link, kind, heading, to);
    opened();
  }
}
function opened() {
  document.documentElement.dataset.state = 'ready';
  byId('opening').hidden = true;
}
const isOpening = () => document.documentElement.dataset.state === 'opening';

/** @param {{href: string, text?: any, progression?: number, isHit?: boolean, fragment?: string}} target */
function goTo(target) {
  const at = book.indexOf(target.href);
  const to = { text: target.text, progression: target.progression, isHit: target.isHit, fragment: target.fragment ?? fragmentOf(target.href) };
  if (at < 0 && book.isBeside(target.href)) return open(index, to, normal(target.href));
  if (at < 0) return say('That place is not in this publication.');
  if (at === index && !aside && pages.port) {
    pages.send('go', { to });
    pages.focus();
  } else if (at === index && !aside && drawn.isOpen && drawn.total) {
    drawn.go(to);
    drawn.focus();
  } else open(at, to);
}

function step(by) {
  if (aside) return;
  const at = index + by;
  if (at < 0) return say('This is the beginning.');
  if (at >= book.order.length) return say('This is the end.');
  open(at, by < 0 ? { end: true } : {});
}

/** To the left or the right of the screen. */
const toSide = (by) => turn(isBackward ? -by : by);

function turn(by) {
  // an extra press would skip the content about to be shown
  if (isOpening()) return;
  if (pages.port) pages.send('turn', { by });
  else if (drawn.isOpen) drawn.turn(by);
  else step(by);
}

async function follow(href) {
  const base = new URL(book.pages, location.origin).href;
  if (href.startsWith(base)) {
    const path = href.slice(base.length);
    const at = book.indexOf(path);
    if (at >= 0) return goTo({ href: path });
    return open(index, { fragment: fragmentOf(path) }, normal(path));
  }
  if (!/^(https?|mailto):/.test(href) || href.startsWith(location.origin) || !(await isActing())) return;
  byId('link-address').textContent = href;
  /** @type {HTMLAnchorElement} */ (byId('link-go')).href = href;
  openSheet(dialog('link'));
}

// MARK: selection, copying, printing

function select(message) {
  chosen = message;
  byId('selection').hidden = !message;
}

// the selection stays while its buttons are pressed
byId('selection').addEventListener('mousedown', (event) => event.preventDefault());
byId('selection-copy').addEventListener('click', () => { if (chosen) take(chosen.content); });
for (const button of document.querySelectorAll('[data-color]')) {
  button.addEventListener('click', () => {
    if (chosen) notes.add(current(), chosen, button.getAttribute('data-color'));
    pages.send('clear');
    select(null);
  });
}
byId('selection-note').addEventListener('click', () => {
  if (!chosen) return;
  const added = notes.add(current(), chosen, 'yellow');
  pages.send('clear');
  select(null);
  notes.edit(added.id);
});
byId('selection-copy').toggleAttribute('disabled', !book.rights.canCopy);
byId('open-print').toggleAttribute('disabled', !book.rights.canPrint);

let isPrintWanted = false;
function askToPrint({ characters, breaks }) {
  isPrintWanted = false;
  // as licenses count: a page that its publisher laid out, or one of the page list, or 1,024 characters
  // no screen shows more characters than this; what there are is the word of a document
  const { clientWidth, clientHeight } = byId('stage');
  const shown = Math.min(characters, (clientWidth * clientHeight) / 24);
  const listed = book.pageBreaks(index).length;
  if (drawn.isOpen || book.isFixed(book.order[index])) toPrint = 1;
  else if (listed) toPrint = 1 + Math.min(breaks, listed);
  else toPrint = Math.max(1, Math.ceil(shown / 1024));
  const cost = toPrint === 1 ? 'It counts as one page.' : `It counts as ${toPrint} pages.`;
  setText(byId('print-count'), drawn.isOpen ? `The whole page is printed. ${cost}` : cost);
  openSheet(dialog('print'));
}
function wantPrint() {
  if (!book.rights.canPrint) return say('This publication may not be printed.');
  if (isOpening()) return;
  if (drawn.isOpen && !drawn.isShown) return say('There is no page to print yet.');
  if (drawn.isOpen) return askToPrint({ characters: 0, breaks: 0 });
  isPrintWanted = Boolean(pages.port);
  if (pages.port) pages.send('seen', { breaks: book.pageBreaks(index) });
  else say('Only pages can be printed here; the viewer may have a print button of its own.');
}
// text of the publication is in this page too: in results, notes and headings
if (book.isCounted) {
  const isOwn = ({ target }) => target instanceof Element && Boolean(target.closest('input, textarea'));
  for (const name of ['copy', 'cut']) {
    document.addEventListener(name, (event) => {
      if (isOwn(event)) return;
      event.preventDefault();
      const text = getSelection()?.toString() ?? '';
      if (text) take(text);
    }, true);
  }
  document.addEventListener('dragstart', (event) => { if (!isOwn(event)) event.preventDefault(); }, true);
}
byId('copy-form').addEventListener('submit', () => copyNow(toCopy));
/** Called when the document has set or cleared its print layout. */
let hasPaper = () => {};
async function showPaper(isOn) {
  if (!book.isCounted) return;
  await new Promise((resolve) => {
    hasPaper = () => resolve(true);
    setTimeout(resolve, 2000);
    pages.send('paper', { isOn });
  });
}
byId('print-form').addEventListener('submit', () => {
  if (drawn.isOpen) return print(book, toPrint, say, (isOn) => drawn.print(isOn), drawn.paper);
  // on paper of the stage's own size as it was counted: frames are laid out again for other paper, and their pages begin elsewhere then
  const { clientWidth: width, clientHeight: height } = byId('stage');
  print(book, toPrint, say, showPaper, { width, height });
});
// the counted pages would differ from the printed ones
addEventListener('resize', () => { if (dialog('print').open) { dialog('print').close(); say('Not printed: the window size changed.'); } });

// MARK: sheets and keys

function closeSheets() { for (const name of sheets) if (dialog(name).open) dialog(name).close(); }
for (const name of sheets) {
  prepareSheet(dialog(name));
  document.getElementById(`open-${name}`)?.addEventListener('click', (event) => {
    // keyboard users continue at the button, pointer users continue reading: Space then turns pages
    if (event.detail) dialog(name).addEventListener('close', focusPage, { once: true });
    if (name === 'print') wantPrint(); else openSheet(dialog(name));
  });
}
dialog('search').addEventListener('close', () => pages.focus());
function focusPage() {
  for (const view of [pages, drawn, pictures]) view.focus();
}
/** Shows more of a drawn page or a picture that is larger than the window. @param {string} key @returns {boolean} whether there was more on that side */
const scroll = (key) => drawn.scroll(key) || pictures.scroll(key);

function press(key, isControl) {
  if (isControl) return key === 'p' ? wantPrint() : openSheet(dialog('search'));
  if (key === 'Escape') { pages.send('clear'); select(null); }
  return keys.press(key);
}
addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.target instanceof Element && event.target.closest('input, textarea, select, audio')) return;
  if (event.ctrlKey || event.metaKey) {
    // words that are drawn are found by the browser
    if (!['f', 'p'].includes(event.key) || (event.key === 'f' && drawn.isOpen)) return;
    event.preventDefault();
    return press(event.key, true);
  }
  const { kind } = document.documentElement.dataset;
  if (event.key === ' ' && (kind === 'audio' || kind === 'pdf' || (event.target instanceof Element && event.target.closest('button, a, summary')))) return;
  const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1, ' ': event.shiftKey ? -1 : 1 }[event.key];
  if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
    if (scroll(event.key)) event.preventDefault();
  } else if (by) {
    event.preventDefault();
    if (scroll(event.key === ' ' ? (by < 0 ? 'PageUp' : 'PageDown') : event.key)) return;
    if (event.key.startsWith('Arrow')) toSide(by); else turn(by);
  } else if ((event.key.length === 1 || event.key === 'Escape') && press(event.key, false)) event.preventDefault();
});

byId('earlier').addEventListener('click', () => turn(-1));
byId('later').addEventListener('click', () => turn(1));
byId('back').addEventListener('click', () => open(index, kept()));

setText(byId('title'), book.title);
if (book.language) byId('title').lang = book.language;
byId('contents-list').replaceChildren(...book.contents.slice(0, 20000).map(({ link, depth }) => {
  const at = book.indexOf(link.href);
  const title = link.title || 'Untitled';
  if (at < 0 && !book.isBeside(link.href)) return make('li', { class: `depth-${Math.min(depth, 4)}` }, make('span', { class: 'contents-heading', dir: 'auto', text: title }));
  const go = () => { closeSheets(); goTo({ href: link.href }); };
  return make('li', { class: `depth-${Math.min(depth, 4)}` }, make('button', { type: 'button', class: 'contents-item', dir: 'auto', 'data-index': at, text: title, onclick: go }));
}));
prepareSearch(
  (locator) => { closeSheets(); goTo({ href: locator.href, text: locator.text, progression: locator.locations?.progression, isHit: true }); },
  (href) => book.headingAt(href));
if (answer.protectedBy) {
  setText(byId('protected'), `Protected by ${answer.protectedBy}`);
  byId('protected').hidden = false;
}

followLicense(answer, current, (isAll) => {
  closeSheets();
  for (const view of [pages, media, drawn, pictures]) view.close();
  for (const list of isAll ? ['search-results', 'notes-list', 'contents-list'] : ['search-results']) byId(list).replaceChildren();
  select(null);
  setText(byId('note-quote'), '');
});

const start = place ? book.indexOf(place.href) : -1;
if (!book.order.length) byId('opening').textContent = 'There is nothing to read in this publication.';
else if (start >= 0) open(start, kept());
else open(0, { isKept: true });
