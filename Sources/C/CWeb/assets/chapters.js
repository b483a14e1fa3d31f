// SPDX-License-Identifier: Apache-2.0

// The list of chapters, with the playing chapter marked.

import { byId, make, setText } from './dom.js';
import { clock, length } from './format.js';
import { languageTag } from './language.js';

/** @param {import('./player.js').Player} player @param {string|null} language of the title */
export function connectChapters(player, language) {
  const panel = byId('panel-chapters');
  if (player.chapters.length === 0) {
    panel.replaceChildren(make('p', { class: 'empty', text: 'This title has no chapter marks.' }));
    return;
  }
  const rows = player.chapters.map((chapter, i) => make('li', {},
    make('button', { type: 'button', class: 'row', onclick: () => choose(i) },
      make('span', { class: 'row-number', text: String(i + 1) }),
      make('span', { class: 'row-title', lang: languageTag(language), dir: 'auto', text: chapter.title }),
      make('span', { class: 'row-side', text: clock(player.chapterEnd(i) - chapter.start) }))));
  panel.replaceChildren(make('ol', { class: 'rows' }, ...rows));

  const choose = (/** @type {number} */ i) => {
    player.playFrom(player.chapters[i].start);
  };

  let current = -1;
  const show = () => {
    const index = player.chapterAt();
    if (index !== current) {
      mark(current, false);
      mark(index, true);
      if (current < 0) reveal(rows[index]);
      current = index;
    }
    setText(rows[index].querySelector('.row-side'), `${length(player.chapterEnd(index) - player.time)} left`);
  };
  const mark = (/** @type {number} */ i, /** @type {boolean} */ on) => {
    if (i < 0) return;
    const button = rows[i].firstElementChild;
    if (on) button?.setAttribute('aria-current', 'true');
    else button?.removeAttribute('aria-current');
    if (!on) setText(rows[i].querySelector('.row-side'), clock(player.chapterEnd(i) - player.chapters[i].start));
  };
  /** Scrolls the panel, never the page. @param {HTMLElement} row */
  const reveal = (row) => {
    if (panel.scrollHeight > panel.clientHeight) panel.scrollTop = row.offsetTop - panel.clientHeight / 3;
  };
  player.addEventListener('time', show);
  show();
}
