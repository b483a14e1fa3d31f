// SPDX-License-Identifier: Apache-2.0

// Orders: one grant of one title to one account; placed, returned, revoked.

import { call } from './admin-api.js';
import { pagedList } from './admin-list.js';
import { action, actions, attempt, form, heading, instantOf, mark, section, table, time } from './admin-parts.js';
import { ask } from './admin-question.js';
import { make } from './dom.js';

/** @param {import('./admin.js').Me} me @returns {Node[]} */
export function ordersView(me) {
  const place = make('div', { id: 'orders' });
  const load = pagedList(place, 'orders', 50, (shown, reload) => table('Orders', ['Order', 'Account', 'Title', 'Kind', 'State', 'Placed', 'Until', ''], shown.map((order) => [
    make('code', { text: order.id }), order.account, make('code', { text: order.title }), order.kind,
    mark(order.state, ['ready', 'active'].includes(order.state) ? 'good' : 'calm'), time(order.createdAt), time(order.end),
    me.may('orders.change') ? changes(order, reload) : null,
  ]), 'No matching orders.'));
  return [
    heading('Orders'),
    section('Find', form({
      name: 'find-order', verb: 'Find', quiet: true, keeps: true, repeats: true,
      fields: [{ name: 'account', label: 'Account' }, { name: 'title', label: 'Title id' }, { name: 'orderNumber', label: 'Order number' }],
      onsubmit: (values) => load(values),
    }), place),
    ...(me.may('orders.change') ? [section('New order', create(load))] : []),
  ];
}

/** @param {any} order @param {() => Promise<void>} reload */
function changes(order, reload) {
  /** @param {string} verb @param {string} text @param {string} done */
  const button = (verb, text, done) => action(text, async () => {
    if (!await ask(`${text} the order of ${order.account}?`, text)) return;
    await attempt(async () => {
      await call('POST', `orders/${order.id}/${verb}`, {});
      await reload();
      return done;
    });
  }, `the order of ${order.account}`);
  const isOpen = ['ready', 'active'].includes(order.state);
  return actions(
    isOpen ? button('return', 'Return', 'The title is returned.') : null,
    isOpen || order.state === 'returned' ? button('revoke', 'Revoke', 'The order is revoked.') : null);
}

/** @param {() => Promise<void>} reload */
function create(reload) {
  return form({
    name: 'create-order',
    verb: 'Place the order',
    fields: [
      { name: 'account', label: 'Account', required: true, hint: 'Created if it does not exist.' },
      { name: 'title', label: 'Title id', required: true },
      { name: 'kind', label: 'Kind', options: [['sale', 'sale'], ['loan', 'loan']] },
      { name: 'start', label: 'From', type: 'datetime-local' },
      { name: 'end', label: 'Until', type: 'datetime-local', hint: 'A loan needs an end.' },
      { name: 'orderNumber', label: 'Order number', hint: 'Your own number; prevents duplicates.' },
    ],
    onsubmit: async ({ account, title, kind, start, end, orderNumber }) => {
      await call('POST', 'orders', {
        account, title, kind, start: instantOf(start), end: instantOf(end), orderNumber: orderNumber || undefined,
      });
      await reload();
      return `Placed an order for ${account}.`;
    },
  });
}
