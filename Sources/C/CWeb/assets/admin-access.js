// SPDX-License-Identifier: Apache-2.0

// How an account gets in: devices and sessions, its password, links, app passwords, identities at providers.

import { call, query } from './admin-api.js';
import { placeSections } from './admin-devices.js';
import { action, attempt, form, section, table, time } from './admin-parts.js';
import { playerSections } from './admin-players.js';
import { ask } from './admin-question.js';
import { make } from './dom.js';

/** @type {Record<string, string>} */
const scopes = { opds: 'feeds and downloads', sync: 'listening positions' };

/**
 * @param {import('./admin.js').Me} me @param {any} account @param {string} path
 * @param {(work: () => Promise<string|void>) => Promise<boolean>} act runs an action, then reloads the account
 * @returns {Promise<Node[]>}
 */
export async function accessSections(me, account, path, act) {
  const [places, players, { appPasswords }, { identities }] = await Promise.all([
    placeSections(me, account, path, act), playerSections(me, account, path, act), call('GET', `${path}/app-passwords`), call('GET', `${path}/identities`),
  ]);
  const mayChange = me.may('accounts.change');
  return [
    ...places,
    ...players,
    ...(mayChange ? [section('Password and links', passwordForm(account, path, act), links(account, path))] : []),
    section('App passwords',
      table('App passwords', ['Name', 'Opens', 'Made', 'Last used', 'Until', ''], appPasswords.map((/** @type {any} */ known) => [
        known.name, known.scopes.map((/** @type {string} */ scope) => scopes[scope] ?? scope).join(', '),
        time(known.createdAt), time(known.seenAt), known.expiresAt ? time(known.expiresAt) : 'never',
        mayChange ? action('Revoke', async () => {
          if (!await ask(`Revoke ${known.name}? Apps that use it are signed out immediately.`, 'Revoke')) return;
          await act(async () => {
            await call('DELETE', `${path}/app-passwords/${encodeURIComponent(known.id)}`);
            return `Revoked ${known.name}.`;
          });
        }, known.name) : null,
      ]), 'No app passwords.'),
      mayChange ? appPasswordForm(path) : null),
    section('Identities',
      table('Identities', ['Subject', 'At the provider', 'Last used', ''], identities.map((/** @type {any} */ known) => [
        known.subject, make('code', { text: known.issuer }), time(known.seenAt),
        mayChange ? action('Unlink', async () => {
          if (!await ask(`Unlink ${known.subject}? It can no longer sign in to this account.`, 'Unlink')) return;
          await act(async () => {
            await call('DELETE', `${path}/identities${query({ issuer: known.issuer, subject: known.subject })}`);
            return `Unlinked ${known.subject}.`;
          });
        }, known.subject) : null,
      ]), 'No linked identities.'),
      mayChange ? identityForm(path, act) : null),
  ];
}

/** @param {any} account @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function passwordForm(account, path, act) {
  return form({
    name: 'password', verb: 'Set the password', quiet: true,
    fields: [
      { name: 'username', label: 'Name', value: account.name, autocomplete: 'username', hidden: true },
      { name: 'password', label: 'New password', type: 'password', required: true, autocomplete: 'new-password', hint: 'All its sessions end.' },
    ],
    onsubmit: async ({ password }) => {
      await call('PATCH', path, { password });
      await act(async () => `Set the password of ${account.name}.`);
    },
  });
}

/** @param {any} account @param {string} path */
function links(account, path) {
  const shown = make('output', { class: 'secret', hidden: true });
  /** @param {string} text @param {() => Promise<any>} makeLink */
  const button = (text, makeLink) => make('button', {
    type: 'button', class: 'button button-quiet', text,
    onclick: () => attempt(async () => {
      shown.textContent = `${location.origin}${(await makeLink()).path}`;
      shown.hidden = false;
      return 'The link works once, within an hour.';
    }),
  });
  return make('div', {}, make('p', { class: 'actions' },
    button('Create a sign-in link', () => call('POST', 'sign-in-links', { account: account.name })),
    button('Create a password reset link', () => call('POST', `${path}/reset-links`, {}))), shown);
}

/** @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function identityForm(path, act) {
  return form({
    name: 'identity', verb: 'Link the identity', quiet: true,
    fields: [
      { name: 'issuer', label: 'Issuer', required: true, hint: 'The provider’s issuer URL.' },
      { name: 'subject', label: 'Subject', required: true, hint: 'The subject id (sub claim), not a name or an email address.' },
    ],
    onsubmit: async (values) => {
      await call('POST', `${path}/identities`, values);
      await act(async () => `Linked ${values.subject}.`);
    },
  });
}

/** Creates an app password for a reader. @param {string} path */
function appPasswordForm(path) {
  const shown = make('output', { class: 'secret', hidden: true });
  return make('div', {}, form({
    name: 'app-password', verb: 'Create an app password', quiet: true,
    fields: [
      { name: 'name', label: 'What is it for?', required: true, maxlength: 100 },
      { name: 'scope', label: 'Access to', options: [['opds', scopes.opds], ['sync', scopes.sync], ['both', 'both']] },
    ],
    onsubmit: async ({ name, scope }) => {
      const made = await call('POST', `${path}/app-passwords`, { name, scopes: scope === 'both' ? ['opds', 'sync'] : [scope] });
      shown.textContent = made.password;
      shown.hidden = false;
      return `The password for ${made.name} is shown only once: pass it on now.`;
    },
  }), shown);
}
