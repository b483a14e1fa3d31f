// SPDX-License-Identifier: Apache-2.0

// Accounts: found by a part of their names, and created.

import { call } from './admin-api.js';
import { explainForm } from './admin-explain.js';
import { pagedList } from './admin-list.js';
import { form, heading, mark, section, table, time } from './admin-parts.js';
import { make } from './dom.js';

/** @param {import('./admin.js').Me} me @returns {Node[]} */
export function accountsView(me) {
  const list = make('div', { id: 'accounts', 'aria-live': 'polite' });
  let wanted = '';
  const load = pagedList(list, 'accounts', 50, (shown) => table('Accounts', ['Name', 'State', 'Created'], shown.map((account) => [
    make('a', { href: `#/accounts/${encodeURIComponent(account.id)}`, dir: 'auto', text: account.name }),
    account.suspended ? mark('suspended', 'bad') : mark('open', 'good'),
    time(account.createdAt),
  ]), wanted ? 'No matching accounts.' : 'There are no accounts yet.'));
  const create = form({
    name: 'create-account',
    verb: 'Create the account',
    fields: [
      { name: 'name', label: 'Name', required: true, maxlength: 256, autocomplete: 'username', hint: 'As typed at sign-in.' },
      { name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', hint: '8 to 256 characters; empty: the reader signs in with a link.' },
      { name: 'deviceLimit', label: 'Device limit', type: 'number', min: 0, hint: 'Empty: set by its plan or the configuration.' },
    ],
    onsubmit: async ({ name, password, deviceLimit }) => {
      const account = await call('POST', 'accounts', { name, password: password || undefined, deviceLimit: deviceLimit ? Number(deviceLimit) : undefined });
      location.hash = `#/accounts/${encodeURIComponent(account.id)}`;
      return `Created ${name}.`;
    },
  });
  const search = form({
    name: 'find-account',
    verb: 'Find',
    quiet: true,
    keeps: true,
    repeats: true,
    fields: [{ name: 'find', label: 'Part of the name', type: 'search' }],
    onsubmit: async ({ find }) => {
      wanted = find;
      await load({ find });
    },
  });
  return [
    heading('Accounts'),
    section('Find', search, list),
    section('Explain access', make('p', { class: 'quiet', text: 'For any reader, including those known only to an upstream system.' }), explainForm()),
    ...(me.may('accounts.change') ? [section('New account', create)] : []),
  ];
}
