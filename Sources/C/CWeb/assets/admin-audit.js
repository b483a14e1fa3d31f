// SPDX-License-Identifier: Apache-2.0

// The audit log: actors, actions, subjects and outcomes; and the verification of its seals.

import { call } from './admin-api.js';
import { pagedList } from './admin-list.js';
import { attempt, form, heading, instantOf, mark, section, table, time } from './admin-parts.js';
import { make } from './dom.js';

/** @returns {Node[]} */
export function auditView() {
  const place = make('div', { id: 'audit', 'aria-live': 'polite' });
  const load = pagedList(place, 'audit', 100, (shown) => table('Entries', ['When', 'Who', 'What', 'On what', 'Outcome', 'Why'], shown.map((entry) => [
    time(entry.at, true), named(entry.actor, entry.actorName), make('code', { text: entry.action }),
    named(entry.subject, entry.subjectName), mark(entry.outcome, entry.outcome === 'allowed' ? 'good' : 'bad'), (entry.reason || '–') + (entry.count > 1 ? ` (${entry.count} times)` : ''),
  ]), 'No matching entries.'), 'entries');
  const seals = make('p', { id: 'seals', role: 'status' });
  const verify = make('button', {
    type: 'button', class: 'button button-quiet', text: 'Verify the seals',
    onclick: () => attempt(async () => {
      const found = await call('POST', 'audit/verify', {});
      seals.replaceChildren(found.intact
        ? mark(`${found.entries} entries, all seals match`, 'good')
        : mark(`row ${found.firstBroken} of the log does not match its seal`, 'bad'));
    }),
  });
  return [
    heading('Audit log', 'Changes and refusals. Each entry is sealed together with the one before it.'),
    section('Seals', make('p', { class: 'actions' }, verify), seals),
    section('Search', form({
      name: 'audit', verb: 'Search', quiet: true, keeps: true, repeats: true,
      fields: [
        { name: 'account', label: 'Account', hint: 'As actor or subject.' },
        { name: 'subject', label: 'Id', hint: 'As actor or subject.' },
        { name: 'actor', label: 'Actor id', hint: 'Or “operator”, “nobody”.' },
        { name: 'action', label: 'Action', hint: 'Such as account.create.' },
        { name: 'outcome', label: 'Outcome', options: [['', 'any'], ['allowed', 'allowed'], ['refused', 'refused'], ['failed', 'failed']] },
        { name: 'since', label: 'From', type: 'datetime-local' },
        { name: 'until', label: 'Until', type: 'datetime-local' },
      ],
      onsubmit: (values) => load({ ...values, since: instantOf(values.since), until: instantOf(values.until) }),
    }), place),
  ];
}

/** @param {string} id @param {string|null} name */
function named(id, name) {
  if (name) return make('a', { href: `#/accounts/${encodeURIComponent(id)}`, text: name });
  return id ? make('code', { text: id }) : '–';
}
