// SPDX-License-Identifier: Apache-2.0

// What an account holds: plans and products, purchases in a store, orders, and the credentials that it was given.

import { call, query } from './admin-api.js';
import { action, actions, attempt, form, instantOf, mark, section, table, time } from './admin-parts.js';
import { ask } from './admin-question.js';
import { receiptSection } from './admin-receipts.js';
import { make } from './dom.js';

/** @param {string|null} end */
const isOver = (end) => end !== null && new Date(end) <= new Date();

/**
 * @param {import('./admin.js').Me} me @param {any} account @param {string} path
 * @param {(work: () => Promise<string|void>) => Promise<boolean>} act runs an action, then reloads the account
 * @returns {Promise<Node[]>}
 */
export async function holdingSections(me, account, path, act) {
  const mayChange = me.may('holdings.change');
  const [holdings, { plans }, { orders }, receipts] = await Promise.all([
    call('GET', `${path}/entitlement`), me.may('plans.read') ? call('GET', 'plans') : { plans: [] },
    me.may('orders.read') ? call('GET', `orders${query({ account: account.name, limit: 1000 })}`) : { orders: [] },
    receiptSection(me, account, path, act),
  ]);
  return [
    section('Plans', table('Plans', ['Plan', 'State', 'From', 'Until', ''], holdings.subscriptions.map((/** @type {any} */ held) => [
      held.plan, state(held), time(held.start), held.end ? time(held.end) : 'no end',
      mayChange ? planActions(held, account.name, act) : null,
    ]), 'No plan.'),
    mayChange ? grantForm(plans, path, act) : null),
    section('Single products', table('Products', ['Product', 'How', 'State', 'Until', ''], holdings.purchases.map((/** @type {any} */ held) => [
      held.product, held.kind, isOver(held.end) ? mark('over', 'calm') : mark('open', 'good'), held.end ? time(held.end) : 'no end',
      mayChange && !isOver(held.end) ? action('End', async () => {
        if (!await ask(`End the grant of ${held.product} to ${account.name}?`, 'End it')) return;
        await act(async () => { await call('POST', `purchases/${held.id}/end`, {}); return `Ended ${held.product}.`; });
      }, held.product) : null,
    ]), 'No single products.'),
    mayChange ? giveForm(path, act) : null),
    receipts,
    ...(mayChange ? [credentialSection(account)] : []),
    ...(me.may('orders.read') ? [section('Orders', table('Orders', ['Order', 'Title', 'State', 'Placed'], orders.map((/** @type {any} */ order) => [
      make('code', { text: order.id }), make('code', { text: order.title }), mark(order.state, ['ready', 'active'].includes(order.state) ? 'good' : 'calm'), time(order.createdAt),
    ]), 'No orders. Place one on the page Orders.'))] : []),
  ];
}

/** @param {any} held */
function state(held) {
  if (held.revokedAt) return mark('revoked', 'bad');
  return isOver(held.end) ? mark('over', 'calm') : new Date(held.start) > new Date() ? mark('to come', 'calm') : mark('running', 'good');
}

/** @param {any} held @param {string} name @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function planActions(held, name, act) {
  if (held.revokedAt) return null;
  return actions(
    isOver(held.end) ? null : action('End', async () => {
      if (!await ask(`End the plan ${held.plan} of ${name} now? Issues published until now stay readable if the plan grants them permanently.`, 'End it')) return;
      await act(async () => { await call('POST', `subscriptions/${held.id}/end`, {}); return `Ended ${held.plan}.`; });
    }, held.plan),
    action('Revoke', async () => {
      if (!await ask(`Revoke the plan ${held.plan} of ${name}? Everything it granted is removed.`, 'Revoke it')) return;
      await act(async () => { await call('POST', `subscriptions/${held.id}/revoke`, {}); return `Revoked ${held.plan}.`; });
    }, held.plan));
}

/** @param {any[]} plans @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function grantForm(plans, path, act) {
  if (plans.length === 0) return make('p', { class: 'quiet' }, 'There are no plans yet: ', make('a', { href: '#/plans', text: 'create one' }), '.');
  return form({
    name: 'grant', verb: 'Grant the plan', quiet: true,
    fields: [
      { name: 'plan', label: 'Plan', options: plans.map((plan) => [plan.name, plan.name]) },
      { name: 'start', label: 'From', type: 'datetime-local', hint: 'Empty: now.' },
      { name: 'end', label: 'Until', type: 'datetime-local', hint: 'Empty: no end.' },
      { name: 'number', label: 'Number', maxlength: 128, hint: 'Your own number; prevents duplicates.' },
    ],
    onsubmit: async ({ plan, start, end, number }) => {
      await call('POST', `${path}/subscriptions`, { plan, start: instantOf(start), end: instantOf(end), number: number || undefined });
      await act(async () => `Granted ${plan}.`);
    },
  });
}

/** @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function giveForm(path, act) {
  return form({
    name: 'give', verb: 'Grant the product', quiet: true,
    fields: [
      { name: 'product', label: 'Product id', required: true, maxlength: 256 },
      { name: 'kind', label: 'How', options: [['purchase', 'purchase'], ['gift', 'gift']] },
      { name: 'end', label: 'Until', type: 'datetime-local', hint: 'Empty: no end.' },
      { name: 'number', label: 'Number', maxlength: 128, hint: 'Your own number; prevents duplicates.' },
    ],
    onsubmit: async ({ product, kind, end, number }) => {
      await call('POST', `${path}/purchases`, { product, kind, end: instantOf(end), number: number || undefined });
      await act(async () => `Granted ${product}.`);
    },
  });
}

/** @param {any} account */
function credentialSection(account) {
  return section('Edition credentials',
    make('p', { class: 'quiet', text: 'Its apps download editions with them. Revoked credentials stop working within a second; apps of entitled readers request new ones.' }),
    make('p', { class: 'actions' }, make('button', {
      type: 'button', class: 'button button-quiet', id: 'void-credentials', text: 'Revoke its credentials',
      onclick: async () => {
        if (!await ask(`Revoke all credentials of ${account.name}?`, 'Revoke them')) return;
        await attempt(async () => {
          await call('POST', 'credentials/revoke', { account: account.name });
          return `Revoked the credentials of ${account.name}.`;
        });
      },
    })));
}
