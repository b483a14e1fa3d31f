// SPDX-License-Identifier: Apache-2.0

// A PDF document with limited rights: pages rendered by the server, with selectable text over them. It is shown in the reader's
// own page, where copying and printing are counted as for other publications.

import { byId, make, setText } from './dom.js';
import { ask, send } from './read-api.js';
import { pageIn } from './read-book.js';
import { scrollByKey } from './read-scroll.js';

/** Pixels of a picture's longer side that the server draws. */
const sizes = [800, 1200, 1800, 2700];
/** Pixels of the longer side of paper: documents may have pages as large as a field. */
const largestPaper = 3000;

const pen = document.createElement('canvas').getContext('2d');
if (pen) pen.font = '100px sans-serif';

export class DrawnView {
  /**
   * @param {string|null} language of the publication
   * @param {() => number} zoom 1 if the whole page fits
   * @param {{moved: (place: any) => void, opened: () => void, edge: (by: number) => void, problem: (text: string) => void, selection: (text: string) => void}} heard
   */
  constructor(language, zoom, heard) {
    this.language = language;
    this.zoom = zoom;
    this.heard = heard;
    this.holder = byId('stage');
    /** @type {HTMLElement|null} */
    this.view = null;
    /** @type {HTMLElement|null} */
    this.sheet = null;
    this.page = 0;
    this.total = 0;
    /** The size in pixels of the largest requested picture of the current page. */
    this.asked = 0;
    this.waiting = new AbortController();
    addEventListener('resize', () => this.fit());
    document.addEventListener('selectionchange', () => {
      const selection = getSelection();
      if (this.view) this.heard.selection(selection && this.view.contains(selection.anchorNode) ? selection.toString() : '');
    });
  }

  get isOpen() { return Boolean(this.view); }

  /** Whether a page is there and no other is on its way. */
  get isShown() { return Boolean(this.sheet) && Number(this.picture.dataset.page) === this.page; }

  close() {
    this.waiting.abort();
    this.view?.remove();
    this.view = this.sheet = null;
  }

  /** @param {import('./read-book.js').Link} link @param {string} title @param {any} to */
  async open(link, title, to) {
    this.close();
    this.title = title;
    this.href = encodeURIComponent(link.href.replace(/#.*$/, ''));
    this.page = this.total = 0;
    this.size = { width: 3, height: 4 };
    this.view = make('div', { id: 'page', class: 'drawn', tabindex: '0', role: 'group', 'aria-label': title });
    this.holder.append(this.view);
    const { signal } = this.waiting = new AbortController();
    try {
      this.total = (await ask(`drawn?href=${this.href}`, { signal })).pages;
      if (!this.total) throw new Error('it has no pages');
      this.go(to);
    } catch (error) { this.fail(error, signal); }
  }

  /** @param {any} to */
  go(to) {
    const told = pageIn(to) || (to.end ? this.total : 1 + Math.floor((to.progression ?? 0) * this.total));
    this.show(told, !to.isKept);
  }

  turn(by) {
    if (!this.total) return;
    const wanted = this.page + by;
    if (wanted < 1 || wanted > this.total) this.heard.edge(by); else this.show(wanted, true);
  }

  /** Shows more of a page that is larger than the window. @param {string} key @returns {boolean} whether there was more on that side */
  scroll(key) { return Boolean(this.view) && scrollByKey(/** @type {HTMLElement} */ (this.view), key); }

  async show(wanted, isMoved) {
    this.waiting.abort();
    const { signal } = this.waiting = new AbortController();
    const page = this.page = Math.max(1, Math.min(this.total, wanted));
    const name = `Page ${page} of ${this.total}`;
    this.heard.moved({ progression: (page - 1) / this.total, fragments: [`page=${page}`], page: page - 1, pages: this.total, isMoved });
    try {
      const picture = make('img', { alt: name, draggable: 'false' });
      const [words] = await Promise.all([this.words(page, signal), this.draw(picture, page, this.wanted(), signal)]);
      if (signal.aborted || !this.view) return;
      this.size = upright(words, picture);
      this.picture = picture;
      this.asked = Number(picture.dataset.size);
      this.sheet = make('div', { class: 'sheet' }, picture, this.layer(words.blocks));
      setText(this.view, '');
      this.view.append(this.sheet);
      this.view.setAttribute('aria-label', this.title ? `${this.title}, ${name}` : name);
      if (words.problem) this.heard.problem(words.problem);
      this.fit();
      this.view.scrollTo(0, 0);
      this.heard.opened();
    } catch (error) { this.fail(error, signal); }
  }

  /** Pixels that the longer side of a page has on this screen. */
  wanted() {
    const { clientWidth, clientHeight } = this.holder;
    const pixels = Math.max(clientWidth, clientHeight) * this.zoom() * devicePixelRatio;
    return sizes.find((size) => size >= pixels) ?? sizes[sizes.length - 1];
  }

  /** Loads the picture of a page in a size. */
  async draw(picture, page, size, signal) {
    Object.assign(picture.dataset, { page, size });
    // requested with fetch, because the response contains the reason for a missing picture
    const response = await send(`drawn/picture?href=${this.href}&page=${page}&size=${size}`, { signal });
    const address = URL.createObjectURL(await response.blob());
    picture.src = address;
    await picture.decode().finally(() => URL.revokeObjectURL(address));
  }

  /** The words of a page; none, with the reason, if only the picture is available. */
  async words(page, signal) {
    try {
      return await ask(`drawn/words?href=${this.href}&page=${page}`, { signal });
    } catch (error) {
      return { width: 0, height: 0, blocks: [], problem: error instanceof Error ? error.message : String(error) };
    }
  }

  layer(blocks) {
    const { width, height } = this.size;
    return make('div', { class: 'words', lang: this.language }, ...blocks.map((lines) => make('p', {}, ...lines.flatMap((line) => [...line.map(([text, left, top, wide, high], at) => {
      const next = line[at + 1];
      // a space extends to the next word, so that selections have no gaps
      const gap = next ? next[1] - left - wide : -1;
      const word = make('span', { text: next ? `${text} ` : text });
      const letters = gap > 0 && gap < 2 * high ? word.textContent : text;
      const room = letters === text ? wide : wide + gap;
      Object.assign(word.style, {
        left: `${(100 * left) / width}%`, top: `${(100 * top) / height}%`, fontSize: `${(100 * high) / height}cqh`,
        transform: `scaleX(${(room / high) * (100 / (pen?.measureText(letters ?? '').width || 50))})`,
      });
      return word;
    }), make('br')]))));
  }

  /** As large as there is room, or as the reader likes it. */
  fit() {
    if (!this.view || !this.sheet) return;
    const { width, height } = this.size;
    const scale = this.zoom() * Math.min(this.holder.clientWidth / width, this.holder.clientHeight / height);
    this.sheet.style.width = `${width * scale}px`;
    this.sheet.style.height = `${height * scale}px`;
    if (this.wanted() > this.asked) this.sharpen(this.wanted());
  }

  /** Draws the page that is shown once more, larger. */
  async sharpen(size) {
    const picture = make('img', { alt: this.picture.alt, draggable: 'false' });
    const { page } = this.picture.dataset;
    this.asked = size;
    await this.draw(picture, Number(page), size, this.waiting.signal).catch(() => {});
    const now = this.picture;
    // what failed may be tried again
    if (!picture.naturalWidth && this.asked === size) this.asked = Number(now.dataset.size);
    // meanwhile there may be another page, or the same already larger
    if (!this.sheet || now.dataset.page !== page || Number(now.dataset.size) >= size || !picture.naturalWidth) return;
    now.replaceWith(picture);
    this.picture = picture;
  }

  fail(error, signal) {
    if (signal.aborted || !this.view) return;
    this.sheet = null;
    setText(this.view, '');
    this.view.append(make('p', { class: 'opening-text', text: `This page cannot be shown: ${error instanceof Error ? error.message : error}.` }));
    this.heard.opened();
  }

  focus() { this.view?.focus({ preventScroll: true }); }

  /** Paper of the page's own size, in CSS pixels. */
  get paper() {
    const { width, height } = this.size;
    const scale = Math.min(96 / 72, largestPaper / Math.max(width, height));
    return { width: Math.round(width * scale), height: Math.round(height * scale) };
  }

  /** Before and after the page is printed. @param {boolean} isOn */
  async print(isOn) { if (isOn) await this.sharpen(sizes[sizes.length - 1]); }
}

/** The size of a page as shown: the size of its text is reported before rotation. */
function upright({ width, height }, { naturalWidth, naturalHeight }) {
  if (!width || !height) return { width: naturalWidth || 3, height: naturalHeight || 4 };
  return (width > height) === (naturalWidth > naturalHeight) ? { width, height } : { width: height, height: width };
}
