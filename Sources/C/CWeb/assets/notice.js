// SPDX-License-Identifier: Apache-2.0

// A notice in place of the player: the problem and the remedy.

import { byId, icon, make } from './dom.js';

/**
 * @param {import('./refusals.js').Notice} notice
 * @param {() => void} retry
 */
export function showNotice(notice, retry) {
  const box = byId('notice');
  box.replaceChildren(
    icon(notice.icon),
    make('div', {},
      make('h2', { tabindex: '-1', text: notice.heading }),
      make('p', { text: notice.text }),
      make('p', { class: 'notice-actions' },
        notice.retry ? make('button', { type: 'button', class: 'button', text: 'Try again', onclick: retry }) : null,
        location.pathname === '/' ? null : make('a', { class: 'button button-quiet', href: '/', text: 'Your bookshelf' }))));
  box.hidden = false;
}

export function hideNotice() {
  byId('notice').hidden = true;
}
