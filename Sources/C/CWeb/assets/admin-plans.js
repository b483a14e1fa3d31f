// SPDX-License-Identifier: Apache-2.0

// Plans: grants for accounts.

import { call } from './admin-api.js';
import { form, heading, refresh, section, table } from './admin-parts.js';

/** @type {Record<string, string>} */
const scopes = {
  everything: 'everything, while it runs',
  issues: 'issues published while it runs, permanently',
  listed: 'the listed products',
};

/** @param {import('./admin.js').Me} me @returns {Promise<Node[]>} */
export async function plansView(me) {
  const { plans } = await call('GET', 'plans');
  const rows = plans.map((/** @type {any} */ plan) => [
    plan.name, scopes[plan.scope] ?? plan.scope, plan.scope === 'issues' ? String(plan.graceIssues) : '–',
    plan.deviceLimit === null ? '–' : String(plan.deviceLimit), plan.products.join(', ') || '–',
  ]);
  return [
    heading('Plans', 'A plan is granted to an account on the account’s own page.'),
    section('All plans', table('Plans', ['Name', 'Grants', 'Issues after its end', 'Devices', 'Products'], rows)),
    ...(me.may('plans.change') ? [section('New plan', create())] : []),
  ];
}

function create() {
  return form({
    name: 'create-plan',
    verb: 'Create the plan',
    fields: [
      { name: 'name', label: 'Name', required: true, maxlength: 64, hint: 'Visible ASCII characters without spaces and slashes.' },
      { name: 'scope', label: 'Grants', options: Object.entries(scopes) },
      { name: 'graceIssues', label: 'Issues after its end', type: 'number', min: 0, hint: 'Only for plans that grant issues.' },
      { name: 'deviceLimit', label: 'Device limit', type: 'number', min: 0 },
      { name: 'products', label: 'Products', hint: 'Product ids, separated by spaces or commas; only for plans that list products.' },
    ],
    onsubmit: async ({ name, scope, graceIssues, deviceLimit, products }) => {
      await call('POST', 'plans', {
        name,
        scope,
        graceIssues: graceIssues ? Number(graceIssues) : undefined,
        deviceLimit: deviceLimit ? Number(deviceLimit) : undefined,
        products: products.split(/[\s,]+/).filter(Boolean),
      });
      await refresh();
      return `Created ${name}.`;
    },
  });
}
