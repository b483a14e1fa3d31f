// SPDX-License-Identifier: Apache-2.0

// One account, in four parts: account, plans and purchases, devices and sign-in, personal data.

import { accessSections } from './admin-access.js';
import { call } from './admin-api.js';
import { explainForm } from './admin-explain.js';
import { attempt, facts, form, mark, refresh, section, time } from './admin-parts.js';
import { holdingSections } from './admin-holdings.js';
import { personalSections } from './admin-personal.js';
import { ask } from './admin-question.js';
import { make } from './dom.js';

/** @type {{key: string, name: string, needs: string}[]} */
const parts = [
  { key: '', name: 'Account', needs: 'accounts.read' },
  { key: 'holdings', name: 'Plans and purchases', needs: 'accounts.read' },
  { key: 'access', name: 'Devices and sign-in', needs: 'accounts.read' },
  { key: 'data', name: 'Personal data', needs: 'personal-data' },
];

/** @param {import('./admin.js').Me} me @param {string} rest the account's id, and which part @returns {Promise<Node[]>} */
export async function accountView(me, rest) {
  const [id, key = ''] = rest.split('/');
  const path = `accounts/${encodeURIComponent(id)}`;
  const [account, { role }] = await Promise.all([call('GET', path), call('GET', `${path}/role`)]);
  /** Runs an action on the account, then reloads it. @param {() => Promise<string|void>} work */
  const act = (work) => attempt(async () => {
    const text = await work();
    await refresh();
    return text;
  });
  const shown = parts.filter((part) => me.may(part.needs));
  const part = shown.find((known) => known.key === key) ?? shown[0];
  return [
    make('div', { class: 'heading' },
      make('p', { class: 'trail' }, make('a', { href: '#/accounts', text: 'Accounts' })),
      make('h1', { text: account.name }),
      make('p', { class: 'marks' }, account.suspended ? mark('suspended', 'bad') : mark('open', 'good'), role === 'reader' ? null : mark(role, 'calm'))),
    make('nav', { class: 'parts', 'aria-label': 'Parts of the account' }, make('ul', {}, ...shown.map((known) => make('li', {}, make('a', {
      href: `#/accounts/${encodeURIComponent(id)}${known.key ? `/${known.key}` : ''}`, 'aria-current': known === part ? 'page' : null, text: known.name,
    }))))),
    ...(part.key === 'holdings' ? await holdingSections(me, account, path, act)
      : part.key === 'access' ? await accessSections(me, account, path, act)
        : part.key === 'data' ? personalSections(account, path) : overview(me, account, role, path, act)),
  ];
}

/**
 * @param {import('./admin.js').Me} me @param {any} account @param {string} role @param {string} path
 * @param {(work: () => Promise<string|void>) => Promise<boolean>} act
 * @returns {Node[]}
 */
function overview(me, account, role, path, act) {
  return [
    section('Account',
      facts([
        ['Name', account.name], ['Id', make('code', { text: account.id })], ['Role', role], ['Created', time(account.createdAt)],
        ['Signs in', account.hasPassword ? 'with a password' : 'by links or elsewhere'],
        ['Device limit', account.deviceLimit === null ? 'set by its plan or the configuration' : String(account.deviceLimit)],
      ]),
      me.may('accounts.change') ? make('p', { class: 'actions' }, suspension(account, path, act)) : null),
    section('Explain access', make('p', { class: 'quiet', text: 'Checks every entitlement source, in the order used for apps.' }), explainForm(account.name)),
    ...(me.may('accounts.change') ? [section('Device limit', limitForm(account, path, act))] : []),
    ...(me.may('staff.manage') ? [section('Role', roleForm(role, path, act))] : []),
  ];
}

/** @param {any} account @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function suspension(account, path, act) {
  /** @param {string} text @param {boolean} suspended @param {string} done */
  const button = (text, suspended, done) => make('button', {
    type: 'button', class: 'button button-quiet', text,
    onclick: async () => {
      if (suspended && !await ask(`Suspend ${account.name}? It gets no access until it is resumed.`, 'Suspend')) return;
      await act(async () => { await call('PATCH', path, { suspended }); return done; });
    },
  });
  return account.suspended ? button('Resume', false, `Resumed ${account.name}.`) : button('Suspend', true, `Suspended ${account.name}.`);
}

/** @param {any} account @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function limitForm(account, path, act) {
  return form({
    name: 'limit', verb: 'Set the limit', quiet: true, keeps: true,
    fields: [{
      name: 'limit', label: 'Device limit', type: 'number', min: 0, value: account.deviceLimit === null ? '' : String(account.deviceLimit),
      hint: 'Empty: set by its plan or the configuration. Signed-in devices are not signed out.',
    }],
    onsubmit: async ({ limit }) => {
      const changed = await call('PATCH', path, { deviceLimit: limit === '' ? null : Number(limit) });
      await act(async () => (changed.deviceLimit === null ? 'The device limit is set by its plan or the configuration.' : `The limit is ${changed.deviceLimit}.`));
    },
  });
}

/** @param {string} role @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function roleForm(role, path, act) {
  const shown = make('output', { class: 'secret', id: 'role-link', hidden: true });
  return make('div', {}, form({
    name: 'role', verb: 'Set the role', quiet: true, keeps: true,
    fields: [{
      name: 'role', label: 'Role', value: role,
      options: [['reader', 'reader: nothing here'], ['support', 'support: accounts and orders'], ['admin', 'admin: all but staff'], ['owner', 'owner: everything']],
    }],
    onsubmit: async (values) => {
      const { path: link } = await call('PUT', `${path}/role`, values);
      if (!link) return void await act(async () => `The role is ${values.role}.`);
      // The page is not reloaded: the link is shown once.
      shown.textContent = `${location.origin}${link}`;
      shown.hidden = false;
      return `The role is ${values.role}. The old password and links no longer work: pass on this link to choose a new password; it works once, within an hour.`;
    },
  }), shown);
}
