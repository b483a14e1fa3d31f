// What is known about a person: what they listened to, all of it as a file, and forgetting them.

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
      make('p', { class: 'quiet', text: 'What somebody listens to is their own business. That you looked is in the audit log.' }),
      make('p', { class: 'actions' },
        make('button', {
          type: 'button', class: 'button button-quiet', id: 'show-history', text: 'Show what they listened to',
          onclick: () => attempt(async () => {
            const { titles } = await call('GET', `${path}/history`);
            history.replaceChildren(table('Listening history', ['Title', 'Authors', 'At', 'Last heard', 'On'], titles.map((/** @type {any} */ item) => [
              item.title, item.authors.join(', ') || '–', `${clock(item.seconds)} of ${clock(item.duration)}`, time(item.lastHeard), item.device ?? '–',
            ]), 'Nothing yet.'));
          }),
        }),
        make('a', { class: 'button button-quiet', id: 'history-csv', href: `/admin/v1/${path}/history.csv`, download: 'listening-history.csv', text: 'Every stretch as CSV' })),
      history),
    section('Everything that is known',
      make('p', { class: 'quiet', text: 'One JSON file to hand over: the account, devices, sessions, plans, purchases, orders, listening, bookmarks, and what the audit log says of them. No password, key or token.' }),
      make('p', { class: 'actions' }, make('a', { class: 'button button-quiet', id: 'export', href: `/admin/v1/${path}/export`, download: 'carrel-export.json', text: 'Export the data' }))),
    make('section', { class: 'card danger' }, make('h2', { text: 'Erase' }),
      make('p', { text: `Forgets ${account.name} at once and for good: devices, passwords, bookmarks and every stretch listened to are deleted, what runs ends, the name goes.` }),
      make('p', { class: 'quiet', text: 'Orders, plans, purchases and the audit log are kept, without personal data.' }),
      make('p', { class: 'actions' }, make('button', {
        type: 'button', class: 'button button-danger', id: 'erase', text: 'Erase this person',
        onclick: async () => {
          if (!await askForName(`Erase ${account.name}? It cannot be undone.`, 'Erase for good', account.name)) return;
          await attempt(async () => {
            const { kept } = await call('POST', `${path}/erase`, { name: account.name });
            location.hash = '#/accounts';
            say(`${account.name} is forgotten. Kept, without saying who it was: ${kept.map((/** @type {any} */ one) => one.what).join(', ')}.`);
          });
        },
      }))),
  ];
}
