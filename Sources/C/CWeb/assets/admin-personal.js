// SPDX-License-Identifier: Apache-2.0

// Personal data: listening history, export as a file, and erasure.

import { call } from './admin-api.js';
import { attempt, say, section, table, time } from './admin-parts.js';
import { askForName } from './admin-question.js';
import { make } from './dom.js';
import { clock } from './format.js';

/** @param {any} account @param {string} path @returns {Node[]} */
export function personalSections(account, path) {
  const history = make('div', { id: 'history', 'aria-live': 'polite' });
  return [
    section('Listening history',
      make('p', { class: 'quiet', text: 'The listening history is private. The audit log records that you looked.' }),
      make('p', { class: 'actions' },
        make('button', {
          type: 'button', class: 'button button-quiet', id: 'show-history', text: 'Show the listening history',
          onclick: () => attempt(async () => {
            const { titles } = await call('GET', `${path}/history`);
            history.replaceChildren(table('Listening history', ['Title', 'Authors', 'At', 'Last heard', 'On'], titles.map((/** @type {any} */ item) => [
              item.title, item.authors.join(', ') || '–', `${clock(item.seconds)} of ${clock(item.duration)}`, time(item.lastHeard), item.device ?? '–',
            ]), 'Nothing yet.'));
          }),
        }),
        make('a', { class: 'button button-quiet', id: 'history-csv', href: `/admin/v1/${path}/history.csv`, download: 'listening-history.csv', text: 'All intervals as CSV' })),
      history),
    section('Export',
      make('p', { class: 'quiet', text: 'One JSON file for the reader: account, devices, sessions, plans, purchases, orders, listening history, bookmarks and audit entries. No password, key or token.' }),
      make('p', { class: 'actions' }, make('a', { class: 'button button-quiet', id: 'export', href: `/admin/v1/${path}/export`, download: 'carrel-export.json', text: 'Export the data' }))),
    make('section', { class: 'card danger' }, make('h2', { text: 'Erase' }),
      make('p', { text: `Permanently deletes the name, devices, passwords, bookmarks and listening history of ${account.name}, and ends running plans and orders.` }),
      make('p', { class: 'quiet', text: 'Orders, plans, purchases and the audit log are kept, without personal data.' }),
      make('p', { class: 'actions' }, make('button', {
        type: 'button', class: 'button button-danger', id: 'erase', text: 'Erase this person',
        onclick: async () => {
          if (!await askForName(`Erase ${account.name}? This cannot be undone.`, 'Erase permanently', account.name)) return;
          await attempt(async () => {
            const { kept } = await call('POST', `${path}/erase`, { name: account.name });
            location.hash = '#/accounts';
            say(`${account.name} is erased. Kept, without personal data: ${kept.map((/** @type {any} */ one) => one.what).join(', ')}.`);
          });
        },
      }))),
  ];
}
