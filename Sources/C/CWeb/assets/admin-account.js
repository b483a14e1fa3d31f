// One account: what it is, its devices and sessions, what it holds, and why it may or may not read something.

import { accessSections } from './admin-access.js';
import { call, query } from './admin-api.js';
import { action, ask, attempt, facts, form, heading, instantOf, mark, section, table, time } from './admin-parts.js';
import { make } from './dom.js';

/** @param {import('./admin.js').Me} me @param {string} id @returns {Promise<Node[]>} */
export async function accountView(me, id) {
  const path = `accounts/${encodeURIComponent(id)}`;
  const [account, { role }, { devices }, { sessions }, holdings, { plans }, { orders }] = await Promise.all([
    call('GET', path), call('GET', `${path}/role`), call('GET', `${path}/devices`), call('GET', `${path}/sessions`),
    call('GET', `${path}/entitlement`), me.may('plans.read') ? call('GET', 'plans') : { plans: [] },
    call('GET', path).then((known) => call('GET', `orders${query({ account: known.name, limit: 1000 })}`)),
  ]);
  /** Does something to the account, then shows it anew. @param {() => Promise<string|void>} work */
  const act = (work) => attempt(async () => {
    const text = await work();
    dispatchEvent(new HashChangeEvent('hashchange'));
    return text;
  });
  const { name } = account;
  const access = await accessSections(me, account, path, act);
  return [
    heading(name, account.suspended ? 'Suspended: nothing is granted to it.' : ''),
    section('Account',
      facts([['Name', name], ['Id', make('code', { text: id })], ['Role', role], ['State', account.suspended ? mark('suspended', 'bad') : mark('open', 'good')]]),
      me.may('accounts.change') ? changes(account, path, act) : null),
    ...(me.may('staff.manage') ? [section('Role', roleForm(role, path, act))] : []),
    section('Plans and products',
      table('Plans', ['Plan', 'From', 'Until', ''], holdings.subscriptions.map((/** @type {any} */ held) => [
        held.plan, time(held.start), held.end ? time(held.end) : 'until it is ended',
        me.may('holdings.change') && !isOver(held.end) ? action('End', async () => {
          if (await ask(`End the plan ${held.plan} of ${name} now?`, 'End it')) act(async () => { await call('POST', `subscriptions/${held.id}/end`, {}); return `Ended ${held.plan}.`; });
        }, held.plan) : null,
      ]), 'No plan.'),
      table('Products', ['Product', 'How', 'Until', ''], holdings.purchases.map((/** @type {any} */ held) => [
        held.product, held.kind, held.end ? time(held.end) : 'for good',
        me.may('holdings.change') && !isOver(held.end) ? action('Take back', async () => {
          if (await ask(`Take ${held.product} back from ${name}?`, 'Take it back')) act(async () => { await call('POST', `purchases/${held.id}/end`, {}); return `Took ${held.product} back.`; });
        }, held.product) : null,
      ]), 'No single products.'),
      me.may('holdings.change') ? make('div', { class: 'forms' }, grantForm(plans, path, act), giveForm(path, act)) : null),
    section('Why, or why not', explainForm(path)),
    section('Devices',
      table('Devices', ['Device', 'Signed in', 'Last seen', ''], devices.map((/** @type {any} */ device) => [
        device.name, time(device.createdAt), time(device.seenAt),
        device.freedAt ? mark('signed out', 'calm') : me.may('accounts.change') ? action('Revoke', () => act(async () => { await call('DELETE', `${path}/devices/${device.id}`); return `Revoked ${device.name}.`; }), device.name) : null,
      ]), 'No device has signed in.'),
      devices.length > 0 && me.may('accounts.change') ? make('p', { class: 'actions' }, make('button', {
        type: 'button', class: 'button button-quiet', text: 'Reset all devices',
        onclick: async () => { if (await ask(`Sign every device of ${name} out?`, 'Reset them')) act(async () => `Revoked ${(await call('DELETE', `${path}/devices`)).revoked} devices.`); },
      })) : null),
    section('Sessions', table('Sessions', ['Since', 'Last used', 'Until', ''], sessions.map((/** @type {any} */ session) => [
      time(session.createdAt), time(session.seenAt), time(session.expiresAt),
      me.may('accounts.change') ? action('End', () => act(async () => { await call('DELETE', `${path}/sessions/${session.id}`); return 'Ended the session.'; })) : null,
    ]), 'Not signed in anywhere.')),
    ...access,
    section('Orders', table('Orders', ['Order', 'Title', 'State', 'Placed'], orders.map((/** @type {any} */ order) => [
      make('code', { text: order.id }), make('code', { text: order.title }), order.state, time(order.createdAt),
    ]), 'No orders.')),
  ];
}

/** @param {string|null} end */
const isOver = (end) => end !== null && new Date(end) <= new Date();

/** @param {any} account @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function changes(account, path, act) {
  const suspend = account.suspended
    ? make('button', { type: 'button', class: 'button button-quiet', text: 'Resume', onclick: () => act(async () => { await call('PATCH', path, { suspended: false }); return `Resumed ${account.name}.`; }) })
    : make('button', {
      type: 'button', class: 'button button-quiet', text: 'Suspend',
      onclick: async () => { if (await ask(`Suspend ${account.name}? Nothing will be granted to it.`, 'Suspend')) act(async () => { await call('PATCH', path, { suspended: true }); return `Suspended ${account.name}.`; }); },
    });
  return make('p', { class: 'actions' }, suspend);
}

/** @param {string} role @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function roleForm(role, path, act) {
  return form({
    name: 'role', verb: 'Set the role', quiet: true, keeps: true,
    fields: [{
      name: 'role', label: 'May do', value: role,
      options: [['reader', 'reader: nothing here'], ['support', 'support: accounts and orders'], ['admin', 'admin: all but staff'], ['owner', 'owner: everything']],
    }],
    onsubmit: (values) => act(async () => { await call('PUT', `${path}/role`, values); return `The role is ${values.role}.`; }),
  });
}

/** @param {any[]} plans @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function grantForm(plans, path, act) {
  if (plans.length === 0) return make('p', { class: 'quiet' }, 'There are no plans yet: ', make('a', { href: '#/plans', text: 'make one' }), '.');
  return form({
    name: 'grant', verb: 'Grant the plan', quiet: true,
    fields: [
      { name: 'plan', label: 'Plan', options: plans.map((plan) => [plan.name, plan.name]) },
      { name: 'start', label: 'From', type: 'datetime-local', hint: 'Empty: now.' },
      { name: 'end', label: 'Until', type: 'datetime-local', hint: 'Empty: until it is ended.' },
    ],
    onsubmit: ({ plan, start, end }) => act(async () => {
      await call('POST', `${path}/subscriptions`, { plan, start: instantOf(start), end: instantOf(end) });
      return `Granted ${plan}.`;
    }),
  });
}

/** @param {string} path @param {(work: () => Promise<string|void>) => Promise<boolean>} act */
function giveForm(path, act) {
  return form({
    name: 'give', verb: 'Give the product', quiet: true,
    fields: [
      { name: 'product', label: 'Product id', required: true, maxlength: 256 },
      { name: 'kind', label: 'How', options: [['purchase', 'purchase'], ['gift', 'gift']] },
      { name: 'end', label: 'Until', type: 'datetime-local', hint: 'Empty: for good.' },
    ],
    onsubmit: ({ product, kind, end }) => act(async () => {
      await call('POST', `${path}/purchases`, { product, kind, end: instantOf(end) });
      return `Gave ${product}.`;
    }),
  });
}

/** @param {string} path */
function explainForm(path) {
  const answer = make('div', { id: 'explanation', 'aria-live': 'polite' });
  return make('div', {}, form({
    name: 'explain', verb: 'Explain', quiet: true, keeps: true,
    fields: [{ name: 'product', label: 'Product id', required: true }],
    onsubmit: async ({ product }) => {
      const found = await call('GET', `${path}/entitlement${query({ product })}`);
      answer.replaceChildren(
        make('p', {}, mark(found.verdict, found.verdict === 'granted' ? 'good' : 'bad'), found.rule ? ` by ${found.rule}` : '', found.state ? '' : ' (the catalog has no such product)'),
        table('Rules', ['Rule', 'Says', 'Because'], found.findings.map((/** @type {any} */ finding) => [finding.rule, finding.effect, finding.reason]), 'No rule speaks of it.'));
    },
  }), answer);
}
