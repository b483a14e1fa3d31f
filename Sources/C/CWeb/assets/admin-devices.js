// SPDX-License-Identifier: Apache-2.0

// The devices of an account, and its sessions.

import { call } from './admin-api.js';
import { action, actions, mark, section, table, time } from './admin-parts.js';
import { ask, askForText } from './admin-question.js';
import { make } from './dom.js';

/**
 * @param {import('./admin.js').Me} me @param {any} account @param {string} path
 * @param {(work: () => Promise<string|void>) => Promise<boolean>} act runs an action, then reloads the account
 * @returns {Promise<Node[]>}
 */
export async function placeSections(me, account, path, act) {
  const [{ devices }, { sessions }] = await Promise.all([call('GET', `${path}/devices`), call('GET', `${path}/sessions`)]);
  const mayChange = me.may('accounts.change');
  const names = new Map(devices.map((/** @type {any} */ device) => [device.id, device.name]));
  return [
    section('Devices',
      table('Devices', ['Device', 'State', 'Signed in', 'Last seen', ''], devices.map((/** @type {any} */ device) => [
        device.name === device.appName ? device.name : make('span', {}, device.name, make('span', { class: 'quiet block', text: `app name: ${device.appName}` })),
        device.freedAt ? mark('signed out', 'calm') : mark('signed in', 'good'),
        time(device.createdAt), time(device.seenAt),
        mayChange ? actions(action('Rename', () => rename(device, path, act), device.name), device.freedAt ? null : action('Revoke', async () => {
          if (!await ask(`Sign ${device.name} out? It has to sign in again.`, 'Revoke')) return;
          await act(async () => { await call('DELETE', `${path}/devices/${device.id}`); return `Revoked ${device.name}.`; });
        }, device.name)) : null,
      ]), 'No device has signed in.'),
      devices.some((/** @type {any} */ device) => !device.freedAt) && mayChange ? make('p', { class: 'actions' }, make('button', {
        type: 'button', class: 'button button-quiet', text: 'Reset all devices',
        onclick: async () => {
          if (!await ask(`Sign every device of ${account.name} out?`, 'Reset them')) return;
          await act(async () => `Revoked ${(await call('DELETE', `${path}/devices`)).revoked} devices.`);
        },
      })) : null),
    section('Sessions', table('Sessions', ['Where', 'Since', 'Last used', 'Until', ''], sessions.map((/** @type {any} */ session) => [
      session.staff ? 'the administrators’ page' : names.get(session.device) ?? 'a browser', time(session.createdAt), time(session.seenAt), time(session.expiresAt),
      mayChange ? action('End', async () => {
        if (!await ask(`End this session of ${account.name}?`, 'End it')) return;
        await act(async () => { await call('DELETE', `${path}/sessions/${session.id}`); return 'Ended the session.'; });
      }, 'the session') : null,
    ]), 'Not signed in anywhere.'),
    sessions.length > 0 && mayChange ? make('p', { class: 'actions' }, make('button', {
      type: 'button', class: 'button button-quiet', text: 'End all sessions',
      onclick: async () => {
        if (!await ask(`End all sessions of ${account.name}? The reader must sign in again everywhere, and links sent earlier stop working.`, 'End them')) return;
        await act(async () => {
          const { ended } = await call('DELETE', `${path}/sessions`);
          return `Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}.`;
        });
      },
    })) : null),
  ];
}

/** @param {any} device @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
async function rename(device, path, act) {
  const name = await askForText(`New name for ${device.name}`, 'Rename', 'Name', device.name, 100);
  if (name === false) return;
  await act(async () => {
    const known = await call('PATCH', `${path}/devices/${device.id}`, { name: name.trim() === device.appName ? null : name });
    return `Renamed to ${known.name}.`;
  });
}
