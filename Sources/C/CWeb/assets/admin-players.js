// SPDX-License-Identifier: Apache-2.0

// The players of an account: copies of apps with certificates, their licenses, and the reasons for denials.

import { call, query } from './admin-api.js';
import { action, actions, attempt, facts, mark, refresh, section, table, time } from './admin-parts.js';
import { ask } from './admin-question.js';
import { make } from './dom.js';

/** What keeps a player's keys. @type {Record<string, string>} */
const levels = { hardware: 'security chip', os: 'system', passphrase: 'file with a passphrase', none: 'not protected' };

/**
 * @param {import('./admin.js').Me} me @param {any} account @param {string} path
 * @param {(work: () => Promise<string|void>) => Promise<boolean>} act runs an action, then reloads the account
 * @returns {Promise<Node[]>}
 */
export async function playerSections(me, account, path, act) {
  const [{ players }, streams] = await Promise.all([
    call('GET', `players${query({ account: account.name })}`), call('GET', `${path}/streams`),
  ]);
  const shown = make('div', { id: 'player', 'aria-live': 'polite' });
  return [
    section('Players',
      make('p', { class: 'quiet', text: 'Copies of apps with a certificate, linked to this account.' }),
      facts([['Streams now', streams.limit === 0 ? String(streams.held) : `${streams.held} of ${streams.limit}`]]),
      table('Players', ['Player', 'State', 'Keys', 'Since', 'Certificate until', 'Linked until', ''], players.map((/** @type {any} */ player) => [
        make('span', {}, player.name || player.app, make('span', { class: 'quiet block', text: `${player.app} ${player.build}` })),
        mark(player.state, player.state === 'active' ? 'good' : player.state === 'suspended' ? 'calm' : 'bad'),
        levels[player.level] ?? player.level, time(player.createdAt), time(player.expiresAt), time(player.linkExpiresAt),
        actions(
          me.may('licenses.manage') ? action('Licenses', () => attempt(() => showPlayer(player, shown)), player.name || player.app) : null,
          ...(me.may('accounts.change') ? changes(player, act) : []),
        ),
      ]), 'No app is linked.'),
      shown),
  ];
}

/** The buttons that change a player. @param {any} player @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function changes(player, act) {
  const name = player.name || player.app;
  /** @param {string} text @param {string} verb @param {string|null} question @param {string} done */
  const button = (text, verb, question, done) => action(text, async () => {
    if (question && !await ask(question, text)) return;
    await act(async () => { await call('POST', `players/${encodeURIComponent(player.id)}/${verb}`, {}); return `${done} ${name}.`; });
  }, name);
  if (player.state === 'revoked') return [];
  return [
    player.state === 'suspended'
      ? button('Resume', 'resume', null, 'Resumed')
      : button('Suspend', 'suspend', `Suspend ${name}? It gets no licenses until it is resumed.`, 'Suspended'),
    button('Revoke', 'revoke', `Revoke ${name} for good? The app has to be personalised again, with new keys.`, 'Revoked'),
  ];
}

/** Shows a player's licenses, redemptions and denials. @param {any} player @param {HTMLElement} place */
async function showPlayer(player, place) {
  const path = `players/${encodeURIComponent(player.id)}`;
  const [{ licenses }, { redemptions }, { denials }] = await Promise.all([
    allLicenses(player), call('GET', `${path}/redemptions`), call('GET', `${path}/denials`),
  ]);
  const cookies = new Map(redemptions.map((/** @type {any} */ known) => [known.license, known]));
  const head = make('h3', { tabindex: '-1', text: `${player.name || player.app}: licenses` });
  place.replaceChildren(
    head,
    table('Licenses', ['Content', 'Kind', 'State', 'Issued', 'Lease until', 'Redeemed', ''], licenses.map((/** @type {any} */ license) => {
      const redemption = cookies.get(license.id);
      return [
        license.contentId, license.session === 'stream' ? 'stream' : 'stored', state(license), time(license.issuedAt), time(license.leaseUntil),
        redemption ? make('span', {}, time(redemption.time), redemption.cookie ? make('span', { class: 'quiet block', text: redemption.cookie }) : null) : '–',
        license.endedAt ? null : action('Revoke', async () => {
          if (!await ask(`Revoke the license for ${license.contentId}? It stops working when the player learns of it.`, 'Revoke')) return;
          await attempt(async () => {
            await call('POST', `licenses/${encodeURIComponent(license.id)}/revoke`, {});
            await refresh();
            return `Revoked the license for ${license.contentId}.`;
          });
        }, license.contentId),
      ];
    }), 'No licenses.'),
    make('h3', { text: 'Last denials' }),
    table('Last denials', ['When', 'Code', 'Meaning'], denials.map((/** @type {any} */ denial) => [
      time(denial.at, true), make('code', { text: denial.code }), denial.explanation,
    ]), 'This player was not denied anything.'),
  );
  head.focus();
}

/** The licenses of a player, the newest first: at most a thousand. @param {any} player */
async function allLicenses(player) {
  const { licenses } = await call('GET', `licenses${query({ player: player.id, limit: 1000 })}`);
  return { licenses: licenses.reverse() };
}

/** @param {any} license */
function state(license) {
  if (license.endedAt) return mark({ staff: 'revoked', release: 'given back', evicted: 'replaced', order: 'order ended', deregistration: 'deregistered' }[license.endedBy] ?? 'ended', 'bad');
  if (license.leaseUntil && new Date(license.leaseUntil) <= new Date()) return mark('over', 'calm');
  if (license.terms.exp && new Date(license.terms.exp * 1000) <= new Date()) return mark('over', 'calm');
  return mark('valid', 'good');
}
