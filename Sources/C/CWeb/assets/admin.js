// SPDX-License-Identifier: Apache-2.0

// The administrator's page: the signed-in account, the navigation, and the current view.

import { accountView } from './admin-account.js';
import { accountsView } from './admin-accounts.js';
import { call, whenOver } from './admin-api.js';
import { auditView } from './admin-audit.js';
import { cannedView } from './admin-canned.js';
import { catalogView } from './admin-catalog.js';
import { door } from './admin-door.js';
import { healthView } from './admin-health.js';
import { keysView } from './admin-keys.js';
import { ordersView } from './admin-orders.js';
import { attempt, heading, quietenOld, say } from './admin-parts.js';
import { plansView } from './admin-plans.js';
import { sessionsView } from './admin-sessions.js';
import { staffView } from './admin-staff.js';
import { byId, make } from './dom.js';

/**
 * @typedef {{may: (permission: string) => boolean, account: any, role: string, cannedUsers: boolean}} Me
 * @typedef {(me: Me, rest: string) => Promise<Node[]>|Node[]} View
 */

/** @type {{path: string, name: string, needs: string, view: View}[]} */
const places = [
  { path: 'health', name: 'Overview', needs: 'health.read', view: healthView },
  { path: 'accounts', name: 'Accounts', needs: 'accounts.read', view: (me, rest) => (rest ? accountView(me, rest) : accountsView(me)) },
  { path: 'sessions', name: 'Sessions', needs: 'accounts.read', view: sessionsView },
  { path: 'plans', name: 'Plans', needs: 'plans.read', view: plansView },
  { path: 'orders', name: 'Orders', needs: 'orders.read', view: ordersView },
  { path: 'catalog', name: 'Titles', needs: 'catalog.read', view: catalogView },
  { path: 'audit', name: 'Audit log', needs: 'audit.read', view: auditView },
  { path: 'canned', name: 'Canned users', needs: 'canned-users.run', view: cannedView },
  { path: 'keys', name: 'Keys', needs: 'keys.rotate', view: keysView },
  { path: 'staff', name: 'Staff', needs: 'staff.manage', view: staffView },
];

/** @type {Me|null} */
let me = null;
/** Counts views, so that a slow view does not replace a later one. */
let turn = 0;

const isSetupLink = () => new URLSearchParams(location.hash.slice(1)).has('setup');

async function start() {
  let session;
  try {
    session = await call('GET', 'session');
  } catch (error) {
    byId('view').replaceChildren(heading('The server does not respond', 'Load the page again in a moment.'));
    return;
  }
  if (session.signedIn && !isSetupLink()) enter(session);
  else leave({ confidential: true, ...session });
}

/** @param {any} session */
function enter(session) {
  me = {
    may: (permission) => session.permissions.includes(permission),
    account: session.account,
    role: session.role,
    cannedUsers: session.cannedUsers,
  };
  byId('who').hidden = false;
  byId('who-name').replaceChildren(make('span', { class: 'visually-hidden', text: 'Signed in as ' }), session.account?.name ?? 'operator', make('span', { class: 'quiet', text: ` ${session.role}` }));
  const known = me;
  byId('places-list').replaceChildren(...places
    .filter((place) => known.may(place.needs) && (place.path !== 'canned' || known.cannedUsers))
    .map((place) => make('li', {}, make('a', { href: `#/${place.path}`, text: place.name }))));
  byId('places').hidden = false;
  if (!location.hash.startsWith('#/')) history.replaceState(null, '', '#/health');
  show();
}

/** @param {any} session */
function leave(session) {
  me = null;
  turn += 1;
  byId('who').hidden = true;
  byId('places').hidden = true;
  const view = byId('view');
  view.replaceChildren(...door(session, enter));
  document.title = 'Sign in · Carrel administration';
  /** @type {HTMLElement|null} */ (view.querySelector('input'))?.focus();
}

/** In a narrow window the places are a list that unfolds. @param {boolean} isOpen */
function unfold(isOpen) {
  byId('places-open').setAttribute('aria-expanded', String(isOpen));
}
byId('places-open').addEventListener('click', () => unfold(byId('places-open').getAttribute('aria-expanded') !== 'true'));
byId('places').addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || byId('places-open').getAttribute('aria-expanded') !== 'true') return;
  unfold(false);
  byId('places-open').focus();
});
byId('places').addEventListener('click', (event) => {
  // the place where we are already leads nowhere: the list folds all the same
  if (event.target instanceof Element && event.target.closest('a')) unfold(false);
});

async function show() {
  if (!me) return;
  const [path, ...rest] = location.hash.slice(2).split('/');
  const place = places.find((known) => known.path === path && me?.may(known.needs));
  for (const link of byId('places').querySelectorAll('a')) {
    const isHere = link.getAttribute('href') === `#/${path}`;
    if (isHere) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  byId('places-here').textContent = place?.name ?? 'Places';
  unfold(false);
  const view = byId('view');
  const mine = turn += 1;
  view.setAttribute('aria-busy', 'true');
  /** @type {Node[]} */
  let nodes;
  try {
    nodes = place ? await place.view(me, decodeURIComponent(rest.join('/'))) : [heading('Page not found', 'Choose a page from the list.')];
  } catch (error) {
    nodes = [heading(place?.name ?? 'Administration'), make('p', { class: 'notice', text: `The action failed: ${error instanceof Error ? error.message : error}` })];
  }
  if (mine !== turn) return;
  view.replaceChildren(...nodes);
  const part = /** @type {HTMLElement|null} */ (view.querySelector('.parts [aria-current]'));
  part?.closest('ul')?.scrollTo({ left: part.offsetLeft - 48 });
  view.removeAttribute('aria-busy');
  const title = view.querySelector('h1')?.textContent ?? place?.name;
  document.title = `${title} · Carrel administration`;
}

/** What a control says to those who see it. @param {Element} element */
function wordsOf(element) {
  const copy = /** @type {Element} */ (element.cloneNode(true));
  for (const hidden of copy.querySelectorAll('.visually-hidden')) hidden.remove();
  return copy.textContent?.trim() || element.getAttribute('name');
}

/** The controls of a card that say the same. @param {Element} card @param {string} tag @param {string|null} words */
const alike = (card, tag, words) => [...card.querySelectorAll(tag)].filter((other) => wordsOf(other) === words);

// Reloads the view after a change: the focus goes back to the same control, or to its card.
window.addEventListener('refresh', async (event) => {
  const { detail } = /** @type {CustomEvent<() => void>} */ (event);
  const at = document.activeElement;
  const card = at?.closest('#view .card');
  const title = card?.querySelector('h2')?.textContent;
  const [tag, words] = [at?.tagName ?? '', at ? wordsOf(at) : null];
  const place = at && card ? alike(card, tag, words).indexOf(at) : -1;
  await show();
  const again = [...byId('view').querySelectorAll('.card')].find((other) => title && other.querySelector('h2')?.textContent === title);
  if (again) {
    const headline = again.querySelector('h2');
    headline?.setAttribute('tabindex', '-1');
    /** @type {HTMLElement|null} */ (alike(again, tag, words)[place] ?? headline)?.focus({ preventScroll: true });
  }
  detail();
});

window.addEventListener('hashchange', () => {
  // A setup link that is opened in a page that is open already.
  if (isSetupLink()) return start();
  if (!me) return;
  const question = /** @type {HTMLDialogElement} */ (byId('question'));
  if (question.open) question.close('no');
  quietenOld();
  show().then(() => byId('view').focus({ preventScroll: true }));
  window.scrollTo(0, 0);
});
byId('sign-out').addEventListener('click', () => attempt(async () => {
  await call('DELETE', 'session');
  history.replaceState(null, '', '/admin/');
  me = null;
  await start();
  return 'Signed out.';
}));
whenOver(() => {
  if (!me) return;
  me = null;
  start().then(() => say('You were signed out. Sign in again.', true));
});
start();
