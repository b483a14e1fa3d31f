// SPDX-License-Identifier: Apache-2.0

// Staff: roles, and links for new owners.

import { call } from './admin-api.js';
import { attempt, heading, mark, section, table, time } from './admin-parts.js';
import { make } from './dom.js';

/** @returns {Promise<Node[]>} */
export async function staffView() {
  const { staff } = await call('GET', 'staff');
  const link = make('output', { class: 'secret', hidden: true });
  return [
    heading('Staff', 'To add staff, open an account and set its role. Staff sign in here with their name and password.'),
    section('People', table('People', ['Name', 'Role', 'State', 'Since'], staff.map((/** @type {any} */ member) => [
      make('a', { href: `#/accounts/${encodeURIComponent(member.id)}`, text: member.name }), member.role,
      member.suspended ? mark('suspended', 'bad') : mark('open', 'good'), time(member.createdAt),
    ]))),
    section('Setup link',
      make('p', { text: 'A setup link creates one owner. It works once, within an hour.' }),
      make('p', { class: 'actions' }, make('button', {
        type: 'button', class: 'button button-quiet', text: 'Create a setup link',
        onclick: () => attempt(async () => {
          const made = await call('POST', 'setup-links', {});
          link.textContent = `${location.origin}${made.path}`;
          link.hidden = false;
        }),
      })), link),
  ];
}
