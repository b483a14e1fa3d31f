// SPDX-License-Identifier: Apache-2.0

// What an account bought in an app store: signed transactions, their grants, and their release.

import { call } from './admin-api.js';
import { action, form, mark, section, table, time } from './admin-parts.js';
import { ask } from './admin-question.js';
import { make } from './dom.js';

/** @param {any} one the store's data of one transaction */
const row = (one) => [
  one.storeProduct, mark(one.status, one.status === 'accepted' ? 'good' : 'bad'), one.plan ? `plan ${one.plan}` : one.product ?? 'nothing',
  make('code', { text: one.originalTransactionId }), one.environment, time(one.start), one.end ? time(one.end) : 'no end',
];
const columns = ['Bought', 'State', 'Gives', 'Transaction', 'Store', 'From', 'Until'];

/**
 * @param {import('./admin.js').Me} me @param {any} account @param {string} path
 * @param {(work: () => Promise<string|void>) => Promise<boolean>} act runs an action, then reloads the account
 * @returns {Promise<Node>}
 */
export async function receiptSection(me, account, path, act) {
  const { transactions } = await call('GET', `${path}/receipts`);
  const mayChange = me.may('holdings.change');
  return section('App-store purchases',
    table('App-store purchases', [...columns, ''], transactions.map((/** @type {any} */ one) => [...row(one), mayChange ? action('Release', async () => {
      if (!await ask(`Remove the purchase of ${one.storeProduct} from ${account.name}? Another account can then add it.`, 'Release it')) return;
      await act(async () => {
        await call('DELETE', `${path}/receipts/${encodeURIComponent(one.environment)}/${encodeURIComponent(one.originalTransactionId)}`);
        return `Released ${one.storeProduct}.`;
      });
    }, one.storeProduct) : null]), 'No app-store purchases.'),
    mayChange ? form({
      name: 'receipt', verb: 'Check and add', quiet: true, keeps: true,
      fields: [{
        name: 'transactions', label: 'Signed transactions', type: 'textarea', required: true,
        hint: 'Signed transactions (JWS) as the app received them, separated by spaces or line breaks. Each is checked separately.',
      }],
      onsubmit: async ({ transactions: text }) => {
        const answer = await call('POST', `${path}/receipts`, { transactions: text.split(/[\s,]+/).filter(Boolean) });
        const refused = answer.transactions.filter((/** @type {any} */ one) => one.status === 'refused');
        const taken = answer.transactions.length - refused.length;
        if (refused.length > 0) {
          throw new Error([...(taken > 0 ? [`${taken} taken`] : []), ...refused.map((/** @type {any} */ one) => `${one.detail} (${one.code})`)].join('; '));
        }
        await act(async () => `Added: ${taken} of the store's transactions.`);
      },
    }) : null);
}
