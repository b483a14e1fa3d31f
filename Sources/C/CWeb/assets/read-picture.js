// SPDX-License-Identifier: Apache-2.0

// A picture of the publication, such as a page of a comic: the whole of it, as wide as the window, or in its own size. What does not fit
// is scrolled to, by the wheel, keys or a finger, before pages turn.

import { byId, make } from './dom.js';
import { hasMore, scrollByKey } from './read-scroll.js';

/** Milliseconds after which the wheel means something new. */
const rest = 250;

export class PictureView {
  /**
   * @param {() => string} fit `page`, `width` or `actual`
   * @param {{turn: (by: number) => void, side: (by: number) => void, isBackward: () => boolean}} heard
   */
  constructor(fit, heard) {
    this.fit = fit;
    this.heard = heard;
    this.holder = byId('stage');
    /** @type {HTMLElement|null} */
    this.view = null;
    this.wheeled = -Infinity;
    /** How far down the picture was when it last came to rest, or moved. */
    this.top = 0;
    addEventListener('resize', () => this.measure());
  }

  close() {
    this.view?.remove();
    this.view = null;
  }

  /** @param {string} source @param {string} name @param {any} to */
  open(source, name, to) {
    this.close();
    this.top = 0;
    const picture = make('img', { id: 'picture', alt: name, draggable: 'false' });
    const view = make('div', { id: 'page', class: 'picture', tabindex: '0', role: 'group', 'aria-label': name }, picture);
    this.view = view;
    picture.addEventListener('load', () => { if (this.view === view) this.begin(to); }, { once: true });
    picture.addEventListener('error', () => view.replaceChildren(make('p', { class: 'opening-text', text: 'This page cannot be shown: its image cannot be read.' })), { once: true });
    view.addEventListener('scroll', () => { this.top = view.scrollTop; }, { passive: true });
    view.addEventListener('wheel', (event) => this.wheel(event), { passive: true });
    this.swipe(view);
    view.dataset.fit = this.fit();
    picture.src = source;
    this.holder.append(view);
  }

  /** Shows the start of reading: the upper corner on the side of the first words, or the lower one on the other side. @param {any} to */
  begin(to) {
    if (!this.view) return;
    this.measure();
    const { scrollWidth, scrollHeight } = this.view;
    const isRight = this.heard.isBackward() !== Boolean(to.end);
    this.view.scrollTo({ left: isRight ? scrollWidth : 0, top: to.end ? scrollHeight : 0, behavior: 'instant' });
  }

  /** Shows the picture in another size, with the same part of it in the middle. */
  refit() {
    const { view } = this;
    if (!view || view.dataset.fit === this.fit()) return;
    const across = (view.scrollLeft + view.clientWidth / 2) / view.scrollWidth;
    const down = (view.scrollTop + view.clientHeight / 2) / view.scrollHeight;
    view.dataset.fit = this.fit();
    this.measure();
    view.scrollTo({ left: across * view.scrollWidth - view.clientWidth / 2, top: down * view.scrollHeight - view.clientHeight / 2, behavior: 'instant' });
  }

  /** Whether a finger moves the picture sideways. */
  measure() { this.view?.classList.toggle('is-wide', this.view.scrollWidth > this.view.clientWidth); }

  /** @param {string} key @returns {boolean} whether there was more on that side */
  scroll(key) { return Boolean(this.view) && scrollByKey(/** @type {HTMLElement} */ (this.view), key); }

  /** @param {WheelEvent} event */
  wheel(event) {
    // with Ctrl the browser zooms
    if (!this.view || event.ctrlKey || Math.abs(event.deltaY) < 8 || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    const by = Math.sign(event.deltaY);
    const isNew = event.timeStamp - this.wheeled > rest;
    // browsers may have moved the picture already when they report the wheel
    const hasRoom = hasMore(this.view, by) || Math.abs(this.view.scrollTop - this.top) >= 1;
    // the wheel that reached the edge of the picture stops there; if all of it is visible, it turns page after page
    if (hasRoom || isNew || hasMore(this.view, -by)) this.wheeled = event.timeStamp;
    if (isNew && !hasRoom) this.heard.turn(by);
  }

  /** Turns pages by a horizontal swipe, if the picture did not scroll with it. @param {HTMLElement} view */
  swipe(view) {
    /** @type {{x: number, y: number, left: number}|null} */
    let touched = null;
    view.addEventListener('touchstart', ({ touches: [touch, other] }) => {
      touched = other || (visualViewport?.scale ?? 1) > 1.01 ? null : { x: touch.clientX, y: touch.clientY, left: view.scrollLeft };
    }, { passive: true });
    view.addEventListener('touchend', ({ changedTouches: [end] }) => {
      if (!touched) return;
      const [x, y] = [end.clientX - touched.x, end.clientY - touched.y];
      const isStill = Math.abs(view.scrollLeft - touched.left) < 1;
      touched = null;
      if (isStill && Math.abs(x) > 40 && Math.abs(x) > 1.5 * Math.abs(y)) this.heard.side(-Math.sign(x));
    }, { passive: true });
  }

  focus() { this.view?.focus({ preventScroll: true }); }
}
