// SPDX-License-Identifier: Apache-2.0

// The reader's own page: entitlements, sessions and settings of the account.

import { getJSON, send } from './api.js';
import { byId, make } from './dom.js';
import { clock, list, when } from './format.js';
import { signOut } from './outbox.js';
import { forgetReader } from './store.js';

const root = '/v1/account';

/** @param {string} text an instant @returns {string} */
const day = (text) => when(new Date(text));

/** Blocks with buttons: a message is shown after the block of the pressed button. */
const blocks = '.rows, .form:not(.rename), p.choices';
for (const block of document.querySelectorAll(`.own-hall section :is(${blocks})`)) {
  block.after(make('p', { class: 'told good', role: 'status' }), make('p', { class: 'told problem', role: 'alert' }));
}

/** The places for messages after the block of the pressed element. @param {Element|null} pressed @returns {HTMLElement[]} */
function placesBeside(pressed) {
  const block = pressed?.closest(blocks);
  const after = block?.nextElementSibling;
  return /** @type {HTMLElement[]} */ (after ? [after, after.nextElementSibling] : []);
}

/** Shows the outcome next to the pressed button, and clears earlier messages. @param {Element|null} pressed @param {'said'|'trouble'} kind @param {string} text */
function tell(pressed, kind, text) {
  quieten();
  const place = placesBeside(pressed)[kind === 'said' ? 0 : 1] ?? byId('trouble');
  place.hidden = false;
  // the same words twice are news too: an empty region in between makes them so
  setTimeout(() => {
    place.textContent = text;
    place.scrollIntoView({ block: 'nearest' });
  }, 20);
}

function quieten() {
  for (const place of document.querySelectorAll('.told')) place.textContent = '';
  byId('trouble').hidden = true;
}

/** A sentence of the server with capital and period. @param {string} text */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/**
 * Runs an action and shows its outcome. After a sign-out in between, shows the sign-in page.
 * @param {Element|null} pressed the pressed element; null for the page itself
 * @param {() => Promise<string|void>} work returns the message about the outcome
 */
async function attempt(pressed, work) {
  const block = pressed?.closest(blocks);
  const place = block ? [...block.querySelectorAll('button')].indexOf(/** @type {HTMLButtonElement} */ (pressed)) : -1;
  // the pressed element may be removed when it is done
  const anchor = block ?? null;
  if (pressed) quieten();
  try {
    const done = await work();
    if (done) tell(anchor, 'said', done);
    if (pressed && !pressed.isConnected) keepFocus(block, place);
  } catch (error) {
    if (error.kind === 'signed-out') location.reload();
    else tell(anchor, 'trouble', error.kind === 'network' ? 'The server does not respond. Try again in a moment.' : sentence(error.message));
  }
}

/** Moves the focus to the element now at the button's place, or to the heading above. @param {Element|null|undefined} block @param {number} place */
function keepFocus(block, place) {
  if (document.activeElement !== document.body) return;
  const buttons = block?.querySelectorAll('button') ?? [];
  const heading = block?.closest('section')?.querySelector('h2');
  heading?.setAttribute('tabindex', '-1');
  const next = buttons[Math.min(place, buttons.length - 1)] ?? heading;
  next?.focus({ preventScroll: true });
}

/**
 * @param {string} name @param {string} detail
 * @param {Node|null} [end] the last cell of the row
 * @param {string|null} [href]
 */
function row(name, detail, end = null, href = null) {
  return make('li', {},
    make('div', { class: 'row-text' },
      make('p', { class: 'row-name', dir: 'auto' }, href ? make('a', { href, text: name }) : name),
      make('p', { class: 'quiet', text: detail })),
    end);
}

/** @param {string} id @param {Node[]} rows @param {string} none what to say when there are no rows */
function fill(id, rows, none) {
  byId(id).replaceChildren(...(rows.length ? rows : [make('li', { class: 'quiet', text: none })]));
}

/**
 * A button that ends one thing, labeled for screen readers.
 * @param {string} verb @param {string} name @param {string} path @param {string} done @param {() => Promise<void>} after
 */
function ender(verb, name, path, done, after) {
  return make('button', {
    type: 'button', class: 'row-end', text: verb, 'aria-label': `${verb} ${name}`,
    onclick: (/** @type {MouseEvent} */ event) => attempt(/** @type {Element} */ (event.currentTarget), async () => {
      await send('DELETE', `${root}${path}`);
      await after();
      return done;
    }),
  });
}

async function showHistory() {
  const { titles } = await getJSON(`${root}/history`);
  fill('history', titles.map((item) => row(item.title,
    `${item.authors.length ? `${list(item.authors)} · ` : ''}at ${clock(item.seconds)} of ${clock(item.duration)}, ${day(item.lastHeard)}${item.device ? `, on ${item.device}` : ''}${standing(item)}`,
    null, `/listen/${encodeURIComponent(item.order)}`)), 'Nothing yet.');
}

/** A note that the loan or purchase has ended, if so. @param {{kind: string|null, state: string|null, endsAt: string|null}} item */
function standing({ kind, state, endsAt }) {
  const what = kind === 'loan' ? 'loan' : 'order';
  switch (state) {
    case 'expired': return `; ${what} ended${endsAt ? ` ${day(endsAt)}` : ''}`;
    case 'returned': return '; returned';
    case 'revoked': return `; ${what} withdrawn`;
    case 'cancelled': return `; ${what} cancelled`;
    default: return '';
  }
}

/** @param {{end: string|null, revokedAt?: string|null}} holding */
const ending = (holding) => (holding.revokedAt ? `revoked ${day(holding.revokedAt)}` : holding.end === null ? 'without end'
  : new Date(holding.end) <= new Date() ? `ended ${day(holding.end)}` : `until ${day(holding.end)}`);

async function showHoldings() {
  const { subscriptions, purchases } = await getJSON(`${root}/holdings`);
  fill('holdings', [
    ...subscriptions.map((plan) => row(plan.plan, `Plan since ${day(plan.start)}, ${ending(plan)}`)),
    ...purchases.map((item) => row(item.product, `${item.kind === 'gift' ? 'A gift' : 'Bought'}, ${ending(item)}`)),
  ], 'No plans or purchases. Titles on your shelf are not listed here.');
}

/** The devices by their ids, for the names of sessions. @type {Map<string, any>} */
let known = new Map();

async function showDevices() {
  const { devices } = await getJSON(`${root}/devices`);
  known = new Map(devices.map((device) => [device.id, device]));
  const held = devices.filter((device) => device.freedAt === null);
  fill('devices', held.map(deviceRow), 'No app is signed in.');
}

/** @param {any} device */
function deviceRow(device) {
  const path = `/devices/${encodeURIComponent(device.id)}`;
  const rename = make('button', { type: 'button', class: 'row-end', text: 'Rename', 'aria-label': `Rename ${device.name}` });
  const ends = make('div', { class: 'row-ends' }, rename, ender('Remove', device.name, path, `${device.name} is signed out.`, showPlaces));
  const detail = `${device.name === device.appName ? '' : `App name: ${device.appName}. `}Since ${day(device.createdAt)}, last signed in ${day(device.seenAt)}`;
  const element = row(device.name, detail, ends);
  rename.addEventListener('click', () => {
    const input = make('input', { value: device.name, maxlength: 100, required: true, 'aria-label': `New name of ${device.name}`, autocomplete: 'off' });
    const form = make('form', { class: 'form rename' }, make('p', { class: 'field' }, input),
      make('button', { class: 'button button-quiet', type: 'submit', text: 'Save' }),
      make('button', { class: 'button button-quiet', type: 'button', text: 'Cancel', onclick: () => {
        const again = deviceRow(device);
        element.replaceWith(again);
        again.querySelector('button')?.focus();
      } }));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      attempt(form, async () => {
        const name = input.value.trim();
        const known = await send('PATCH', `${root}${path}`, { name: name === device.appName ? null : name });
        await showPlaces();
        const again = [...document.querySelectorAll('#devices button')].find((button) => button.getAttribute('aria-label') === `Rename ${known.name}`);
        /** @type {HTMLElement|undefined} */ (again)?.focus();
        return `Renamed to ${known.name}.`;
      });
    });
    element.replaceChildren(form);
    input.select();
  });
  return element;
}

/** What keeps an app's keys. @type {Record<string, string>} */
const levels = { hardware: 'keys in a security chip', os: 'keys kept by the system', passphrase: 'keys in a file with a passphrase', none: 'keys not protected' };

async function showPlayers() {
  const [{ players }, { licenses }] = await Promise.all([getJSON('/v1/players'), getJSON('/v1/licenses?limit=1000')]);
  const now = new Date();
  const held = players.filter((player) => player.state !== 'revoked');
  const alive = licenses.filter((license) => license.endedAt === null && (license.leaseUntil === null || new Date(license.leaseUntil) > now));
  const rows = held.map((player) => {
    const name = player.name || player.app;
    const until = player.linkExpiresAt ? `, linked until ${day(player.linkExpiresAt)}` : '';
    const element = row(name, `${player.state === 'suspended' ? 'Suspended. ' : ''}${player.app} ${player.build}, ${levels[player.level] ?? player.level}; since ${day(player.createdAt)}${until}`,
      make('button', {
        type: 'button', class: 'row-end', text: 'Remove', 'aria-label': `Remove ${name}`,
        onclick: (/** @type {MouseEvent} */ event) => attempt(/** @type {Element} */ (event.currentTarget), async () => {
          await send('DELETE', `/v1/players/${encodeURIComponent(player.id)}`);
          await Promise.all([showPlayers(), showPlaces()]);
          return `${name} is removed.`;
        }),
      }));
    return withLicenses(element, name, alive.filter((license) => license.player === player.id));
  });
  const others = alive.filter((license) => !held.some((player) => player.id === license.player));
  if (others.length) rows.push(withLicenses(row('Apps that are not linked', 'They have licenses from tokens of yours.'), 'an app that is not linked', others));
  fill('players', rows, 'No app is linked.');
}

/**
 * Adds the licenses of an app to its row, each with a button that ends it.
 * @param {HTMLElement} element @param {string} app @param {any[]} licenses
 */
function withLicenses(element, app, licenses) {
  if (!licenses.length) return element;
  element.append(make('ul', { class: 'licenses' }, ...licenses.map((license) => make('li', { class: 'quiet' },
    make('span', { text: `${license.contentId}: ${license.leaseUntil ? `playing, until ${day(license.leaseUntil)}` : 'stored on this device'}` }),
    make('button', {
      type: 'button', class: 'row-end', text: 'End', 'aria-label': `End the license of ${app} for ${license.contentId}`,
      onclick: (/** @type {MouseEvent} */ event) => attempt(/** @type {Element} */ (event.currentTarget), async () => {
        await send('DELETE', `/v1/licenses/${encodeURIComponent(license.id)}`);
        await showPlayers();
        return `The license for ${license.contentId} has ended.`;
      }),
    })))));
  return element;
}

async function showSessions() {
  const { sessions } = await getJSON(`${root}/sessions`);
  fill('sessions', sessions.map((session) => {
    const name = session.staff ? 'The administrators’ page' : session.device ? known.get(session.device)?.name ?? 'An app' : 'A browser';
    const detail = `Since ${day(session.createdAt)}, until ${day(session.expiresAt)} at the latest`;
    if (session.current) return row(name, detail, make('span', { class: 'here', text: 'This one' }));
    return row(name, detail, ender('Sign out', name, `/sessions/${encodeURIComponent(session.id)}`, `${name} is signed out.`, showPlaces));
  }), 'Nowhere.');
  byId('end-others').hidden = sessions.length < 2;
}

async function showPlaces() {
  await showDevices();
  await showSessions();
}

async function showApps() {
  const words = { opds: 'titles and editions', sync: 'listening positions' };
  const { appPasswords } = await getJSON(`${root}/app-passwords`);
  fill('apps', appPasswords.map((app) => row(app.name,
    `Gives access to your ${list(app.scopes.map((scope) => words[scope] ?? scope))}; ${app.seenAt ? `last used ${day(app.seenAt)}` : 'not used yet'}${app.expiresAt ? `; ${ending({ end: app.expiresAt })}` : ''}`,
    ender('Revoke', app.name, `/app-passwords/${encodeURIComponent(app.id)}`, `${app.name} is revoked.`, showApps))), 'None.');
}

async function showAccount() {
  const account = await getJSON(root);
  byId('who').replaceChildren('Signed in as ', make('strong', { text: account.name }));
  byId('no-password').hidden = account.hasPassword;
  byId('password-form').hidden = !account.hasPassword;
  byId('erase-password-field').hidden = !account.hasPassword;
  const input = /** @type {HTMLInputElement} */ (byId('password-name'));
  input.value = account.name;
  byId('kept').replaceChildren(...account.kept.map((item) => make('li', { text: `${item.what}: ${item.because}` })));
}

/** @param {string} id @param {(form: HTMLFormElement) => Promise<string|void>} work */
function onSubmit(id, work) {
  const form = /** @type {HTMLFormElement} */ (byId(id));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (form.getAttribute('aria-busy')) return;
    form.setAttribute('aria-busy', 'true');
    attempt(form, () => work(form)).finally(() => form.removeAttribute('aria-busy'));
  });
}

onSubmit('app-form', async (form) => {
  const data = new FormData(form);
  const scopes = data.getAll('scopes');
  if (scopes.length === 0) throw new Error('choose what it gives access to');
  const made = await send('POST', `${root}/app-passwords`, { name: data.get('name'), scopes });
  form.reset();
  byId('new-app-name').textContent = ` for ${made.name}`;
  byId('new-app-text').textContent = made.password;
  const shown = byId('new-app');
  shown.hidden = false;
  shown.focus({ preventScroll: true });
  shown.scrollIntoView({ block: 'nearest' });
  // it is shown whatever becomes of the list, which moves it
  await showApps().catch(() => {});
  shown.scrollIntoView({ block: 'nearest' });
});

onSubmit('password-form', async (form) => {
  const data = new FormData(form);
  await send('POST', `${root}/password`, { current: data.get('current'), new: data.get('new') });
  form.reset();
  await Promise.all([showPlaces(), showApps()]);
  return 'The password is changed.';
});

onSubmit('erase-form', async (form) => {
  const data = new FormData(form);
  const password = data.get('password');
  await send('POST', `${root}/erase`, password ? { name: data.get('name'), password } : { name: data.get('name') });
  forgetReader();
  location.assign('/');
});

byId('end-others').addEventListener('click', () => attempt(byId('end-others'), async () => {
  const { ended } = await send('DELETE', `${root}/sessions`);
  await showPlaces();
  return ended === 1 ? 'One other place is signed out.' : `${ended} other places are signed out.`;
}));

byId('sign-out').addEventListener('click', () => attempt(byId('sign-out'), signOut));

attempt(null, async () => {
  await Promise.all([showAccount(), showHistory(), showHoldings(), showPlaces(), showPlayers(), showApps()]);
}).finally(() => byId('main').removeAttribute('aria-busy'));
