// SPDX-License-Identifier: Apache-2.0

// Setting the sleep timer, and seeing how long it has.

import { byId, make, setText } from './dom.js';
import { clock } from './format.js';
import { openSheet, prepareSheet } from './sheet.js';

const minutes = [5, 10, 15, 30, 45, 60];

/**
 * @param {import('./player.js').Player} player
 * @param {import('./sleep.js').SleepTimer} timer
 * @param {(text: string) => void} announce
 */
export function connectSleep(player, timer, announce) {
  const sheet = byId('sleep-sheet');
  const open = byId('sleep-open');
  const now = byId('sleep-now');
  prepareSheet(sheet);
  open.addEventListener('click', () => openSheet(sheet));

  /** @param {string} text @param {() => void} act @param {string} said @param {string} [look] */
  const choice = (text, act, said, look = 'preset') => make('button', {
    type: 'button', class: look, text,
    onclick: () => {
      act();
      announce(said);
      sheet.close();
    },
  });
  const chapter = choice('End of chapter', () => timer.atEndOfChapter(), 'Playback stops at the end of the chapter', 'preset preset-wide');
  const extend = choice('5 minutes more', () => timer.extend(5), 'Five minutes more', 'preset preset-wide');
  const off = choice('Off', () => timer.cancel(), 'Sleep timer off', 'preset preset-wide');
  byId('sleep-choices').append(
    ...minutes.map((m) => choice(`${m} min`, () => timer.after(m), `Playback stops in ${m} minutes`)), chapter, extend, off);

  const show = () => {
    const { left, mode } = timer;
    const text = left === null ? '' : clock(Math.ceil(left));
    setText(byId('sleep-value'), left === null ? 'Sleep' : text);
    open.setAttribute('aria-label', left === null ? 'Sleep timer' : `Sleep timer, ${text} left`);
    open.classList.toggle('is-on', left !== null);
    now.hidden = left === null;
    setText(now, mode === 'chapter' ? `Stops at the end of the chapter, in ${text}` : `Stops in ${text}`);
    chapter.hidden = player.chapters.length < 2;
    extend.hidden = mode !== 'minutes';
    off.hidden = left === null;
  };
  timer.addEventListener('change', show);
  timer.addEventListener('slept', () => announce('The sleep timer stopped playback'));
  sheet.addEventListener('toggle', show);
  open.addEventListener('click', show);
  show();
}
