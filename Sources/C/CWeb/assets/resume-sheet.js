// SPDX-License-Identifier: Apache-2.0

// Asks where to continue when two devices disagree.

import { byId, make } from './dom.js';
import { clock, length, when } from './format.js';
import { openSheet, prepareSheet } from './sheet.js';

/**
 * @param {import('./player.js').Player} player
 * @param {import('./resume.js').Choice[]} choices
 * @returns {Promise<import('./resume.js').Choice|null>} null when the sheet was dismissed
 */
export function askWhere(player, choices) {
  const sheet = byId('resume-sheet');
  const again = choices.some(({ kind }) => kind === 'before');
  byId('resume-text').textContent = again
    ? 'You have listened to this title before.'
    : difference(choices[0].seconds - choices[1].seconds);
  return new Promise((resolve) => {
    /** @type {import('./resume.js').Choice|null} */
    let chosen = null;
    byId('resume-choices').replaceChildren(...choices.map((choice) => make('li', {}, make('button', {
      type: 'button', class: 'choice',
      onclick: () => {
        chosen = choice;
        sheet.close();
      },
    },
    make('span', { class: 'choice-name', text: nameOf(choice) }),
    make('span', { class: 'choice-place', text: placeOf(player, choice.seconds) }),
    choice.at ? make('span', { class: 'choice-time', text: sentence(when(choice.at)) }) : null))));
    sheet.addEventListener('close', () => resolve(chosen), { once: true });
    openSheet(sheet);
  });
}

prepareSheet(byId('resume-sheet'), { dismissible: false });

/** @param {number} seconds */
function difference(seconds) {
  return `Another device is ${length(Math.abs(seconds))} ${seconds > 0 ? 'ahead of' : 'behind'} this one.`;
}

/** @param {import('./resume.js').Choice} choice */
function nameOf({ kind, device }) {
  switch (kind) {
    case 'here': return 'This device';
    case 'there': return device ?? 'Another device';
    case 'before': return 'Where you stopped last time';
    default: return 'From the beginning';
  }
}

/** @param {import('./player.js').Player} player @param {number} seconds */
function placeOf(player, seconds) {
  const chapter = player.chapters[player.chapterAt(seconds)]?.title;
  return chapter ? `${clock(seconds)} · ${chapter}` : clock(seconds);
}

/** @param {string} text */
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
