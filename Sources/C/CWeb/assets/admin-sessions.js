// Sessions: who is signed in, and where.

import { call, query } from './admin-api.js';
import { action, attempt, heading, more, section, table, time } from './admin-parts.js';
import { ask } from './admin-question.js';
import { make } from './dom.js';

/** @param {import('./admin.js').Me} me @returns {Node[]} */
export function sessionsView(me) {
  const place = make('div', { id: 'sessions' });
  /** @type {any[]} */
  let shown = [];
  /** @param {string} [after] */
  const load = async (after) => {
    const answer = await call('GET', `sessions${query({ limit: 100, after })}`);
    shown = after ? [...shown, ...answer.sessions] : answer.sessions;
    place.replaceChildren(
      table('Sessions', ['Account', 'Where', 'Since', 'Last used', ''], shown.map((session) => [
        make('a', { href: `#/accounts/${encodeURIComponent(session.account.id)}`, text: session.account.name }),
        session.deviceName ?? (session.kind === 'staff' ? 'this page' : session.kind),
        time(session.createdAt), time(session.seenAt),
        me.may('accounts.change') ? action('End', async () => {
          if (!await ask(`End this session of ${session.account.name}?`, 'End it')) return;
          await attempt(async () => {
            await call('DELETE', `accounts/${encodeURIComponent(session.account.id)}/sessions/${encodeURIComponent(session.id)}`);
            await load();
            return 'Ended the session.';
          });
        }, `the session of ${session.account.name}`) : null,
      ]), 'Nobody is signed in.'),
      more(answer.next, load) ?? '');
  };
  load().catch((error) => place.replaceChildren(make('p', { class: 'notice', text: error.message })));
  return [heading('Sessions', 'Everybody who is signed in, the newest first.'), section('Live sessions', place)];
}
