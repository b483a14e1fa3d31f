// SPDX-License-Identifier: Apache-2.0

// Keys: the master key, the secret of tickets, and what back offices call the API with.

import { call } from './admin-api.js';
import { action, attempt, form, heading, mark, refresh, section, table, time } from './admin-parts.js';
import { ask } from './admin-question.js';
import { make } from './dom.js';

/** @param {import('./admin.js').Me} me @returns {Promise<Node[]>} */
export async function keysView(me) {
  const [{ version }, pki, keys] = await Promise.all([call('GET', 'master-key'), call('GET', 'pki'), me.may('service-keys.manage') ? call('GET', 'service-keys') : { keys: [] }]);
  return [
    heading('Keys'),
    section('Master key',
      make('p', { text: `Version ${version} wraps every content key and secret. Rotating replaces it and rewraps them all; the previous key is kept until the next rotation. After a leak, rotate twice.` }),
      make('p', { class: 'actions' }, make('button', {
        type: 'button', class: 'button button-quiet', id: 'rotate-master', text: 'Rotate the master key',
        onclick: async () => {
          if (!await ask('Replace the master key and rewrap all keys?', 'Rotate')) return;
          await attempt(async () => {
            const done = await call('POST', 'master-key/rotate', {});
            await refresh();
            return `Master key ${done.version}: ${done.rewrapped} keys rewrapped.`;
          });
        },
      }))),
    section('Tickets',
      make('p', { text: 'Tickets are the short-lived parts of segment and key addresses. Rotate: listeners notice nothing. Rotate now: every player must reload its playlist.' }),
      rotation('ticket')),
    section('Edition credentials',
      make('p', { text: 'Apps download editions with credentials signed with a secret of this server. Rotate: readers notice nothing. Rotate now: every app must request new credentials.' }),
      rotation('credential'),
      revocation()),
    section('Certificate authority',
      make('p', { class: 'quiet', text: 'Keys that certify players and sign licenses. carrel pki rotate replaces one; what an earlier key signed stays valid.' }),
      table('Keys of the certificate authority', ['Use', 'Key', 'From', 'Until'], pki.keys.map((/** @type {any} */ key) => [
        uses[key.use] ?? key.use, make('span', {}, make('code', { text: key.id.slice(0, 12) }), key.isCurrent ? mark('current', 'good') : null), time(key.from),
        make('span', {}, time(key.until), new Date(key.until) <= soon() ? mark('ends soon', 'bad') : null),
      ]))),
    ...(me.may('service-keys.manage') ? [
      section('Back-office keys',
        table('Back-office keys', ['Name', 'Role', 'Made', 'Revoked', ''], keys.keys.map((/** @type {any} */ key) => [
          key.name, key.role, time(key.createdAt), time(key.revokedAt),
          key.revokedAt ? null : action('Revoke', async () => {
            if (!await ask(`Revoke the key ${key.name}? Programs that use it are refused immediately.`, 'Revoke')) return;
            await attempt(async () => {
              await call('DELETE', `service-keys/${encodeURIComponent(key.id)}`);
              await refresh();
              return `Revoked ${key.name}.`;
            });
          }, key.name),
        ])),
        create()),
    ] : []),
  ];
}

/** The uses of the keys of the certificate authority. @type {Record<string, string>} */
const uses = { root: 'root', devices: 'certificates of players', license: 'licenses', agreement: 'requests of players', revocation: 'list of revocations', time: 'trusted time' };

/** A key that ends before this time has to be replaced now. */
const soon = () => new Date(Date.now() + 90 * 86_400_000);

/** The buttons that change a secret. @param {'ticket'|'credential'} kind */
function rotation(kind) {
  /** @param {string} text @param {boolean} atOnce */
  const button = (text, atOnce) => make('button', {
    type: 'button', class: 'button button-quiet', id: `rotate-${kind}${atOnce ? '-at-once' : ''}`, text,
    onclick: async () => {
      if (!await ask(atOnce ? `Revoke every issued ${kind}?` : `Replace the secret of ${kind}s?`, 'Rotate')) return;
      await attempt(async () => {
        const done = await call('POST', `${kind}-key/rotate${atOnce ? '?atOnce=true' : ''}`, {});
        return `Secret ${done.key} signs from ${new Date(done.signsFrom).toLocaleTimeString()}.`;
      });
    },
  });
  return make('p', { class: 'actions' }, button('Rotate', false), button('Rotate now', true));
}

/** Revokes issued credentials: for one product, or all. */
function revocation() {
  /** @param {string} what @param {Record<string, any>} body */
  const revoke = async (what, body) => {
    if (!await ask(`Revoke ${what}? They stop working within a second; apps of entitled readers request new ones.`, 'Revoke them')) return false;
    await call('POST', 'credentials/revoke', body);
    return `Revoked ${what}.`;
  };
  return make('div', {},
    form({
      name: 'revoke-product', verb: 'Revoke the product’s credentials', quiet: true,
      fields: [{ name: 'product', label: 'Product id', required: true, maxlength: 256 }],
      onsubmit: ({ product }) => revoke(`the credentials for ${product}`, { product }),
    }),
    make('p', { class: 'actions' }, make('button', {
      type: 'button', class: 'button button-quiet', id: 'void-all', text: 'Revoke all credentials',
      onclick: () => attempt(() => revoke('all credentials', { all: true })),
    })));
}

function create() {
  const shown = make('output', { class: 'secret', hidden: true });
  return make('div', {}, form({
    name: 'create-key', verb: 'Create a key', quiet: true,
    fields: [
      { name: 'name', label: 'Name', required: true, hint: 'What the key is for.' },
      { name: 'role', label: 'Role', options: [['service', 'service: accounts, plans, orders'], ['admin', 'admin: all but staff']] },
    ],
    onsubmit: async ({ name, role }) => {
      const made = await call('POST', 'service-keys', { name, role });
      shown.textContent = made.key;
      shown.hidden = false;
      return 'The key is shown only once: save it now.';
    },
  }), shown);
}
