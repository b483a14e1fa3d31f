// SPDX-License-Identifier: Apache-2.0

// The server's health and recent activity.

import { call } from './admin-api.js';
import { chart } from './admin-chart.js';
import { attempt, facts, heading, mark, section, time } from './admin-parts.js';
import { size } from './admin-upload.js';
import { make } from './dom.js';
import { newest } from './newest.js';

const minute = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const hour = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' });
const spans = /** @type {const} */ ([['The last hour', 'minute', 60], ['Three hours', 'minute', 180], ['A day', 'hour', 24], ['A week', 'hour', 168]]);

/** @returns {Promise<Node[]>} */
export async function healthView() {
  const charts = make('div', { class: 'charts' });
  const asking = newest();
  const health = await call('GET', 'health');
  /** @param {'minute'|'hour'} by @param {number} count */
  const load = async (by, count) => {
    const answer = await asking((signal) => call('GET', `statistics?by=${by}&count=${count}`, undefined, signal));
    if (!answer) return;
    const { slots } = answer;
    /** @param {string} at */
    const label = (at) => (by === 'minute' ? minute : hour).format(new Date(at));
    /** @param {string} title @param {(slot: any) => Record<string, number>} parts @param {boolean} [byKind] */
    const drawn = (title, parts, byKind) => chart(title, slots.map((/** @type {any} */ slot) => ({ at: slot.at, parts: parts(slot) })), label, byKind);
    charts.replaceChildren(
      drawn('Sign-ins', (slot) => ({ apps: slot.signIns, browsers: slot.browserSignIns }), true),
      drawn('Refusals, by reason', (slot) => slot.refusals, true),
      drawn('Streams begun', (slot) => ({ streams: slot.streams })),
      drawn('Segments', (slot) => ({ segments: slot.segments })),
      drawn('Positions reported', (slot) => ({ positions: slot.positions })),
      drawn('Edition credentials', (slot) => ({ credentials: slot.credentials })));
  };
  const choice = make('p', { class: 'choices', role: 'group', 'aria-label': 'Period' }, ...spans.map(([name, by, count], place) => make('button', {
    type: 'button', class: 'choice-button', text: name, 'aria-pressed': String(place === 0),
    onclick: (/** @type {MouseEvent} */ event) => {
      for (const other of choice.querySelectorAll('button')) other.setAttribute('aria-pressed', String(other === event.currentTarget));
      attempt(() => load(by, count));
    },
  })));
  const [, { slots: lastHour }] = await Promise.all([load('minute', 60), call('GET', 'statistics?by=minute&count=60')]);
  /** @param {(slot: any) => number} part */
  const sum = (part) => lastHour.reduce((/** @type {number} */ total, /** @type {any} */ slot) => total + part(slot), 0).toLocaleString();
  const refusals = (/** @type {any} */ slot) => /** @type {number[]} */ (Object.values(slot.refusals)).reduce((total, count) => total + count, 0);
  const { database, queues, disk } = health;
  return [
    heading('Overview'),
    make('dl', { class: 'tiles' },
      tile('Server', health.draining ? mark('shutting down', 'bad') : mark(health.ready ? 'ready' : 'not ready', health.ready ? 'good' : 'bad'), `version ${health.version || '–'}`),
      tile('Listening now', health.listeners.toLocaleString(), 'with a lease'),
      tile('Sign-ins', sum((slot) => slot.signIns + slot.browserSignIns), 'of apps and browsers, in the last hour'),
      tile('Refusals', sum(refusals), 'in the last hour')),
    section('Health', facts([
      ['Running since', time(health.startedAt)],
      ['Environment', health.environment],
      ['Database', `${database.engine}, schema ${database.schema}`],
      ['It answers', database.answers ? `in ${database.milliseconds} ms` : mark('no', 'bad')],
      ['Disk', disk ? `${size(disk.freeBytes)} of ${size(disk.totalBytes)} free` : '–'],
      ['Passwords being checked', String(queues.passwords)],
      ['Audit entries to write', String(queues.auditUnwritten ?? '–')],
      ['Audit entries to seal', String(queues.auditUnsealed ?? '–')],
      ...health.sources.filter((/** @type {any} */ source) => source.state).map(upstream),
    ])),
    make('section', { class: 'card' }, make('h2', { text: 'Recent activity' }),
      make('p', { class: 'quiet', text: `Counted in memory since ${new Date(health.startedAt).toLocaleString()}; lasting records are in the audit log.` }), choice, charts),
  ];
}

/** @param {string} name @param {string|Node} value @param {string} about */
function tile(name, value, about) {
  return make('div', { class: 'tile' }, make('dt', { text: name }), make('dd', {}, make('span', { class: 'tile-value' }, value), make('span', { class: 'quiet', text: about })));
}

/**
 * The recent responses of an upstream system of entitlements.
 * @param {any} source
 * @returns {[string, Node]}
 */
function upstream(source) {
  const { name, state, failPolicy, answeredAt, failedAt, failure } = source;
  return [`Upstream ${name}`, make('span', {}, mark(state, state === 'available' ? 'good' : 'bad'), ` fail policy ${failPolicy}`,
    ...(answeredAt ? [', answered ', time(answeredAt)] : []), ...(failedAt ? [', failed ', time(failedAt), `: ${failure}`] : []))];
}
