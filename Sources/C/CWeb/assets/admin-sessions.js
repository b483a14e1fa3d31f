// SPDX-License-Identifier: Apache-2.0

// Sessions: signed-in accounts and their devices.

import { call } from './admin-api.js';
import { pagedList } from './admin-list.js';
import { action, attempt, heading, section, table, time } from './admin-parts.js';
import { ask } from './admin-question.js';
import { make } from './dom.js';

/** @param {import('./admin.js').Me} me @returns {Node[]} */
export function sessionsView(me) {
  const place = make('div', { id: 'sessions' });
  pagedList(place, 'sessions', 100, (shown, reload) => table('Sessions', ['Account', 'Where', 'Since', 'Last used', ''], shown.map((session) => [
    make('a', { href: `#/accounts/${encodeURIComponent(session.account.id)}`, text: session.account.name }),
    session.deviceName ?? (session.kind === 'staff' ? 'this page' : session.kind),
    time(session.createdAt), time(session.seenAt),
    me.may('accounts.change') ? action('End', async () => {
      if (!await ask(`End this session of ${session.account.name}?`, 'End it')) return;
      await attempt(async () => {
        await call('DELETE', `accounts/${encodeURIComponent(session.account.id)}/sessions/${encodeURIComponent(session.id)}`);
        await reload();
        return 'Ended the session.';
      });
    }, `the session of ${session.account.name}`) : null,
  ]), 'There are no live sessions.'));
  return [heading('Sessions', 'All signed-in accounts, the newest session first.'), section('Live sessions', place)];
}
