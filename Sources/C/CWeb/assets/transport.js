// SPDX-License-Identifier: Apache-2.0

// The player's controls: play and skip buttons, the two sliders, remaining time, and the short player on small screens.

import { byId, setIcon, setText } from './dom.js';
import { clock, length, speed, spoken } from './format.js';
import { Slider } from './slider.js';

/** @param {import('./player.js').Player} player */
export function connectTransport(player) {
  const play = byId('play');
  const dockPlay = byId('dock-play');
  const chapterName = byId('chapter-name');
  const previous = byId('previous-chapter');
  const next = byId('next-chapter');
  const nearElapsed = byId('near-elapsed');
  const nearLeft = byId('near-left');
  const bookLeft = byId('book-left');
  const bookRow = byId('book-row');
  const inChapters = () => player.chapters.length > 1;

  /** The stretch that the large slider covers: this chapter, or the book when it has none. */
  const stretch = (time = player.time) => {
    const index = inChapters() ? player.chapterAt(time) : -1;
    return index < 0 ? { index, start: 0, end: player.duration }
      : { index, start: player.chapters[index].start, end: player.chapterEnd(index) };
  };

  let held = { start: 0, end: 0 };
  const near = new Slider(byId('near-slider'), {
    step: 5,
    say: (value) => `${spoken(value)} of ${spoken(stretch().end - stretch().start)}`,
    preview: (value) => {
      if (held.end === 0) held = stretch();
      setText(nearElapsed, clock(value));
      setText(nearLeft, `−${clock(held.end - held.start - value)}`);
    },
    commit: (value) => {
      const { start } = held.end === 0 ? stretch() : held;
      held = { start: 0, end: 0 };
      player.jump(start + value);
    },
  });
  const book = new Slider(byId('book-slider'), {
    step: 30,
    say: (value) => `${spoken(value)} of ${spoken(player.duration)}`,
    preview: (value) => setText(bookLeft, whereInBook(value)),
    commit: (value) => player.jump(value),
  });

  /** @param {number} time */
  const whereInBook = (time) => {
    const left = length((player.duration - time) / player.speed);
    return `${clock(time)} of ${clock(player.duration)} · ${left} left${player.speed === 1 ? '' : ` at ${speed(player.speed)}`}`;
  };

  let shownChapter = -2;
  const showChapter = (/** @type {number} */ index) => {
    if (index === shownChapter) return;
    shownChapter = index;
    setText(chapterName, index < 0 ? '' : player.chapters[index].title);
    setText(byId('dock-chapter'), index < 0 ? byId('title').textContent ?? '' : player.chapters[index].title);
    byId('near-slider').setAttribute('aria-label', index < 0 ? 'Position in the book' : 'Position in the chapter');
    for (const element of [previous, next]) element.hidden = index < 0;
    next.toggleAttribute('disabled', index === player.chapters.length - 1);
    bookRow.hidden = index < 0;
  };

  const showTime = () => {
    const { time } = player;
    const { index, start, end } = stretch(time);
    if (!near.held) {
      showChapter(index);
      near.show(time - start, end - start);
      setText(nearElapsed, clock(time - start));
      setText(nearLeft, `−${clock(end - start - (Math.floor(time) - Math.floor(start)))}`);
      setText(byId('dock-left'), `−${clock(end - time)}`);
    }
    if (!book.held) {
      book.show(time, player.duration);
      setText(bookLeft, player.duration > 0 ? whereInBook(time) : '');
    }
  };

  const showState = () => {
    const label = player.wanted ? 'Pause' : player.state === 'ended' ? 'Play again' : 'Play';
    const busy = player.wanted && player.state !== 'playing';
    for (const button of [play, dockPlay]) {
      setIcon(button, player.wanted ? 'pause' : 'play');
      button.setAttribute('aria-label', label);
      button.classList.toggle('is-waiting', busy);
    }
    document.body.dataset.state = player.state;
  };

  play.addEventListener('click', () => player.toggle());
  dockPlay.addEventListener('click', () => player.toggle());
  byId('dock-back').addEventListener('click', () => player.skip(-15));
  previous.addEventListener('click', () => player.previousChapter());
  next.addEventListener('click', () => player.nextChapter());
  for (const button of document.querySelectorAll('[data-skip]')) {
    button.addEventListener('click', () => player.skip(Number(/** @type {HTMLElement} */ (button).dataset.skip)));
  }
  player.addEventListener('time', showTime);
  player.addEventListener('speed', showTime);
  player.addEventListener('state', () => {
    showState();
    showTime();
  });
  showState();

  // The dock replaces the real buttons while they are out of sight.
  const dock = byId('dock');
  new IntersectionObserver((entries) => {
    const entry = entries[entries.length - 1];
    dock.hidden = entry.isIntersecting || entry.boundingClientRect.top > 0 || byId('player').hidden;
  }).observe(play);
}
