// How an account gets in: its password, links, app passwords, identities at providers; and the credentials that it was given.

import { call, query } from './admin-api.js';
import { action, ask, attempt, form, section, table, time } from './admin-parts.js';
import { make } from './dom.js';

/** @type {Record<string, string>} */
const scopes = { opds: 'feeds and downloads', sync: 'listening positions' };

/**
 * @param {import('./admin.js').Me} me @param {any} account @param {string} path
 * @param {(work: () => Promise<string|void>) => Promise<boolean>} act does something, then shows the account anew
 * @returns {Promise<Node[]>}
 */
export async function accessSections(me, account, path, act) {
  const [{ appPasswords }, { identities }] = await Promise.all([call('GET', `${path}/app-passwords`), call('GET', `${path}/identities`)]);
  const mayChange = me.may('accounts.change');
  return [
    ...(mayChange ? [section('Password and links', passwordForm(account, path, act), links(account, path))] : []),
    section('App passwords',
      table('App passwords', ['Name', 'Opens', 'Made', 'Last used', 'Until', ''], appPasswords.map((/** @type {any} */ known) => [
        known.name, known.scopes.map((/** @type {string} */ scope) => scopes[scope] ?? scope).join(', '),
        time(known.createdAt), time(known.seenAt), known.expiresAt ? time(known.expiresAt) : 'it is revoked',
        mayChange ? action('Revoke', () => act(async () => {
          await call('DELETE', `${path}/app-passwords/${encodeURIComponent(known.id)}`);
          return `Revoked ${known.name}.`;
        }), known.name) : null,
      ]), 'No app passwords: reading apps sign in with them, and their owner makes them.')),
    section('Identities',
      table('Identities', ['Subject', 'At the provider', 'Last used', ''], identities.map((/** @type {any} */ known) => [
        known.subject, make('code', { text: known.issuer }), time(known.seenAt),
        mayChange ? action('Unlink', async () => {
          if (!await ask(`Unlink ${known.subject}? Who signs in with it is somebody else from then on.`, 'Unlink')) return;
          act(async () => {
            await call('DELETE', `${path}/identities${query({ issuer: known.issuer, subject: known.subject })}`);
            return `Unlinked ${known.subject}.`;
          });
        }, known.subject) : null,
      ]), 'Nobody signs in to it at a provider.'),
      mayChange ? identityForm(path, act) : null),
    ...(me.may('holdings.change') ? [section('Edition credentials',
      make('p', { class: 'quiet', text: 'What its apps download editions with. Void, they stop opening within a second; an app that may still read asks for new ones.' }),
      make('p', { class: 'actions' }, make('button', {
        type: 'button', class: 'button button-quiet', id: 'void-credentials', text: 'Void its credentials',
        onclick: async () => {
          if (!await ask(`Void every credential that ${account.name} was given?`, 'Void them')) return;
          await attempt(async () => {
            await call('POST', 'credentials/revoke', { account: account.name });
            return `The credentials of ${account.name} are void.`;
          });
        },
      })))] : []),
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
    onsubmit: ({ password }) => act(async () => {
      await call('PATCH', path, { password });
      return `Set the password of ${account.name}.`;
    }),
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
    button('Make a sign-in link', () => call('POST', 'sign-in-links', { account: account.name })),
    button('Make a link to a new password', () => call('POST', `${path}/reset-links`, {}))), shown);
}

/** @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function identityForm(path, act) {
  return form({
    name: 'identity', verb: 'Link the identity', quiet: true,
    fields: [
      { name: 'issuer', label: 'Issuer', required: true, hint: 'The provider’s address, as it calls itself.' },
      { name: 'subject', label: 'Subject', required: true, hint: 'Who it is there: a name or an address of mail proves nothing.' },
    ],
    onsubmit: (values) => act(async () => {
      await call('POST', `${path}/identities`, values);
      return `Linked ${values.subject}.`;
    }),
  });
}
