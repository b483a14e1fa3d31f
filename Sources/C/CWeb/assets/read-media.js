// SPDX-License-Identifier: Apache-2.0

// Media: audio, and PDF in the browser's own viewer.

import { byId, make, setText } from './dom.js';
import { pageIn, timeIn } from './read-book.js';
import { lacksOutput, noOutput } from './sound-output.js';

export class MediaView {
  /** @param {import('./read-book.js').Book} book @param {(place: {progression: number, fragments?: string[], isMoved: boolean}) => void} moved @param {() => void} ended */
  constructor(book, moved, ended) {
    this.book = book;
    this.holder = byId('stage');
    this.moved = moved;
    this.ended = ended;
    this.speed = 1;
    /** Whether a track has come to its end just now. */
    this.isEnded = false;
    /** Whether the next track plays automatically, because the previous one did. */
    this.isPlaying = false;
    /** @type {HTMLElement|null} */
    this.element = null;
  }

  close() {
    this.isPlaying = false;
    if (this.element instanceof HTMLElement) {
      const sound = this.element.querySelector('audio');
      if (sound) {
        this.isPlaying = this.isEnded || !sound.paused;
        sound.pause();
        sound.removeAttribute('src');
        sound.load();
      }
      this.element.remove();
    }
    this.element = null;
  }

  /** @param {import('./read-book.js').Link} link @param {string} kind @param {any} to */
  open(link, kind, heading, to) {
    const path = link.href.replace(/^\/+/, '').replace(/#.*$/, '');
    if (kind === 'audio') this.element = this.sound(this.book.publication + path, heading, to);
    else this.element = this.paper(path, heading, to);
    this.holder.append(this.element);
    if (kind === 'audio') {
      if (this.isPlaying) this.element.querySelector('audio')?.play().catch(() => {});
      return;
    }
    // the viewer does not report its page: the position is the requested page
    const page = kind === 'pdf' && pageIn(to);
    const total = this.book.order.length === 1 && this.book.manifest.metadata.numberOfPages;
    this.moved({
      progression: page && total ? Math.min(1, (page - 1) / total) : 0, isMoved: !to.isKept,
      ...(page ? { fragments: [`page=${page}`] } : {}),
    });
  }

  paper(path, heading, to) {
    const page = pageIn(to);
    const wanted = page ? [`page=${page}`] : [];
    // the viewer's own buttons count nothing
    if (this.book.isCounted) wanted.push('toolbar=0');
    return make('iframe', { id: 'page', class: 'paper', title: heading, src: `${this.book.documents}${path}#${wanted.join('&')}` });
  }

  sound(source, heading, to) {
    const audio = make('audio', { id: 'sound', controls: true, controlslist: 'nodownload', preload: 'metadata', src: source });
    audio.defaultPlaybackRate = audio.playbackRate = this.speed;
    const time = timeIn(to);
    audio.addEventListener('loadedmetadata', () => { audio.currentTime = to.end ? Math.max(0, audio.duration - 5) : time; }, { once: true });
    let told = -10;
    audio.addEventListener('timeupdate', () => {
      if (!audio.duration || Math.abs(audio.currentTime - told) < 1) return;
      told = audio.currentTime;
      this.moved({ progression: Math.min(1, told / audio.duration), fragments: [`t=${told.toFixed(1)}`], isMoved: true });
    });
    audio.addEventListener('ended', () => {
      this.isEnded = true;
      this.ended();
      this.isEnded = false;
    });
    const trouble = make('p', { id: 'sound-trouble', class: 'sound-trouble', role: 'alert' });
    audio.addEventListener('error', () => {
      // a closed player no longer has an address
      if (audio.hasAttribute('src')) setText(trouble, lacksOutput(audio.error) ? `${noOutput.heading}: ${noOutput.text}` : 'This track cannot be played.');
    });
    audio.addEventListener('playing', () => setText(trouble, ''));
    const skip = (label, by) => make('button', { type: 'button', class: 'button button-quiet', text: label, onclick: () => { audio.currentTime = Math.max(0, audio.currentTime + by); } });
    const speed = make('select', { id: 'speed', onchange: () => { this.speed = audio.defaultPlaybackRate = audio.playbackRate = Number(speed.value); } },
      ...['0.75', '1', '1.25', '1.5', '2'].map((rate) => make('option', { value: rate, text: `${rate}×`, selected: Number(rate) === this.speed })));
    const cover = this.book.cover ? make('img', { class: 'sound-cover', alt: '', src: `${this.book.publication}~readium/cover` }) : null;
    return make('div', { class: 'sound' }, cover,
      make('h2', { dir: 'auto', text: heading || this.book.title }), make('p', { class: 'quiet', dir: 'auto', text: this.book.authors }), audio, trouble,
      make('div', { class: 'sound-row' }, skip('Back 15 s', -15), skip('Forward 30 s', 30), make('label', { class: 'sound-speed' }, 'Speed ', speed)));
  }
}
