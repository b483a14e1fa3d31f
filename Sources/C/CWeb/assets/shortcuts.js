// SPDX-License-Identifier: Apache-2.0

// Single-key shortcuts. They can be switched off (WCAG 2.1.4) and never fire while someone types or holds a control key.

import { byId, make } from './dom.js';
import { speed } from './format.js';
import { recall, remember } from './store.js';
import { openSheet, prepareSheet } from './sheet.js';

/**
 * @param {import('./player.js').Player} player
 * @param {{bookmark: () => void, announce: (text: string) => void}} page
 */
export function connectShortcuts(player, { bookmark, announce }) {
  const help = byId('help-sheet');
  const setSpeed = (/** @type {number} */ change) => {
    player.speed += change;
    announce(`Speed ${speed(player.speed)}`);
  };
  /** @type {{keys: string[], shown: string[], text: string, act: () => void}[]} */
  const table = [
    { keys: [' ', 'k'], shown: ['Space', 'K'], text: 'Play or pause', act: () => player.toggle() },
    { keys: ['ArrowLeft', 'j'], shown: ['←', 'J'], text: 'Back 15 seconds', act: () => player.skip(-15) },
    { keys: ['ArrowRight', 'l'], shown: ['→', 'L'], text: 'Forward 15 seconds', act: () => player.skip(15) },
    { keys: ['Shift+ArrowLeft'], shown: ['Shift ←'], text: 'Back 30 seconds', act: () => player.skip(-30) },
    { keys: ['Shift+ArrowRight'], shown: ['Shift →'], text: 'Forward 30 seconds', act: () => player.skip(30) },
    { keys: ['p'], shown: ['P'], text: 'Previous chapter', act: () => player.previousChapter() },
    { keys: ['n'], shown: ['N'], text: 'Next chapter', act: () => player.nextChapter() },
    // Brackets take AltGr on many keyboards; arrows up and down scroll.
    { keys: [',', '['], shown: [',', '['], text: 'Slower', act: () => setSpeed(-0.05) },
    { keys: ['.', ']'], shown: ['.', ']'], text: 'Faster', act: () => setSpeed(0.05) },
    { keys: ['m'], shown: ['M'], text: 'Mute', act: () => { player.muted = !player.muted; } },
    { keys: ['b'], shown: ['B'], text: 'Add a bookmark', act: bookmark },
    { keys: ['s'], shown: ['S'], text: 'Sleep timer', act: () => byId('sleep-open').click() },
    { keys: ['?', 'Shift+?'], shown: ['?'], text: 'Show these shortcuts', act: () => openSheet(help) },
  ];
  byId('help-keys').append(...table.map(({ shown, text }) => make('tr', {},
    make('th', { scope: 'row' }, ...shown.flatMap((key, i) => [i > 0 ? ' or ' : null, make('kbd', { text: key })])),
    make('td', { text }))));
  prepareSheet(help);
  byId('help-open').addEventListener('click', () => openSheet(help));

  const on = /** @type {HTMLInputElement} */ (byId('help-on'));
  on.checked = recall('shortcuts') ?? true;
  on.addEventListener('change', () => remember('shortcuts', on.checked));

  addEventListener('keydown', (event) => {
    if (!on.checked || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector('dialog[open]') || isTaken(event)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const name = event.shiftKey ? `Shift+${key}` : key;
    const entry = table.find(({ keys }) => keys.includes(name));
    if (!entry || (event.repeat && !name.includes('Arrow'))) return;
    event.preventDefault();
    entry.act();
  });
}

/** Whether the focused element wants this key for itself. @param {KeyboardEvent} event */
function isTaken(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.matches('textarea, select, input:not([type=range]), [contenteditable]')) return true;
  const presses = event.key === ' ' || event.key === 'Enter';
  const moves = event.key.startsWith('Arrow');
  return (presses && target.matches('button, a, summary')) || (moves && target.matches('input[type=range], [role=tab]'));
}
