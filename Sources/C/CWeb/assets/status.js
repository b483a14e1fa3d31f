// SPDX-License-Identifier: Apache-2.0

// What the page says in passing: trouble with the network, a way back after a jump, and announcements for screen readers.

import { byId, icon, setText } from './dom.js';
import { clock } from './format.js';

/** A jump shorter than this needs no way back. */
const far = 31;
/** How long the way back stays, in milliseconds. */
const offer = 30_000;
/** Jumps that follow one another this fast, in milliseconds, are one search for a place. */
const search = 5000;

/** Says `text` to screen readers. @param {string} text */
export function announce(text) {
  const announcer = byId('announcer');
  // The same words twice are news too: an empty region in between makes them so.
  announcer.textContent = '';
  setTimeout(() => { announcer.textContent = text; }, 50);
}

/**
 * @param {import('./player.js').Player} player
 * @param {import('./segments.js').SegmentSource} source
 */
export function connectStatus(player, source) {
  const status = byId('status');
  source.addEventListener('trouble', (event) => {
    const { kind } = /** @type {CustomEvent} */ (event).detail;
    setText(status, kind === 'network' ? 'No connection. Your place is kept; trying again…' : 'The server is busy. Trying again…');
  });
  source.addEventListener('recovered', () => setText(status, ''));

  const back = byId('return');
  let from = 0;
  let jumped = 0;
  let timer = 0;
  const hide = () => {
    clearTimeout(timer);
    back.hidden = true;
  };
  player.addEventListener('jump', (event) => {
    const jump = /** @type {CustomEvent} */ (event).detail;
    const now = performance.now();
    const origin = !back.hidden && now - jumped < search ? from : jump.from;
    jumped = now;
    if (Math.abs(jump.to - origin) < far || player.duration - origin < far) {
      hide();
      return;
    }
    from = origin;
    clearTimeout(timer);
    timer = setTimeout(hide, offer);
    back.replaceChildren(icon('return'), `Back to ${clock(from)}`);
    back.hidden = false;
  });
  back.addEventListener('click', () => {
    const place = from;
    player.jump(place);
    hide();
    byId('play').focus();
    announce(`Back at ${clock(place)}`);
  });
}
