// SPDX-License-Identifier: Apache-2.0

// The canned users' console: each of them, each of the five calls, run against this very server.

import { call } from './admin-api.js';
import { attempt, heading, mark, section, table } from './admin-parts.js';
import { make, setText } from './dom.js';

const calls = ['sign_in', 'renew_token', 'verify_subscription', 'edition_credentials', 'sign_out'];
/** Number of users checked concurrently. */
const lanes = 4;

/** @returns {Promise<Node[]>} */
export async function cannedView() {
  const { users } = await call('GET', 'canned-users');
  /** @type {Map<string, any>} */
  const answers = new Map();
  const place = make('div', { id: 'canned' });
  const verdict = make('p', { id: 'canned-verdict', role: 'status' });
  const button = make('button', { type: 'button', class: 'button', text: 'Check all users' });
  const show = () => place.replaceChildren(table('Canned users', ['User', ...calls], users.map((/** @type {string} */ user) => [
    make('code', { text: user }), ...calls.map((name) => cell(answers.get(user)?.calls.find((/** @type {any} */ known) => known.call === name))),
  ])));
  button.addEventListener('click', () => attempt(async () => {
    button.disabled = true;
    answers.clear();
    const waiting = [...users];
    const check = async () => {
      for (let user = waiting.shift(); user !== undefined; user = waiting.shift()) {
        answers.set(user, await call('POST', `canned-users/${encodeURIComponent(user)}/check`, {}));
        setText(verdict, `${answers.size} of ${users.length} users checked…`);
        show();
      }
    };
    try {
      await Promise.all(Array.from({ length: lanes }, check));
    } finally {
      button.disabled = false;
    }
    const wrong = [...answers.values()].flatMap((answer) => answer.calls).filter((answer) => !answer.green).length;
    setText(verdict, wrong === 0 ? `All green: ${users.length} users, ${users.length * calls.length} calls.` : `${wrong} calls had unexpected results.`);
  }));
  show();
  return [
    heading('Canned users', 'Each user shows an app one case. A call is green if its result is as expected.'),
    section('Console', make('p', { class: 'actions' }, button), verdict, place),
  ];
}

/** @param {any} answer */
function cell(answer) {
  if (!answer) return '–';
  return make('span', { title: `${answer.milliseconds} ms` },
    mark(answer.got, answer.green ? 'good' : 'bad'),
    answer.green ? make('span', { class: 'visually-hidden', text: ' as expected' }) : ` expected ${answer.expected.join(' or ')}`);
}
