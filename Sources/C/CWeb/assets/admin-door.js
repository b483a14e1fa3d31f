// SPDX-License-Identifier: Apache-2.0

// The page before sign-in: the sign-in form, the setup-link form, or why neither is shown.

import { call } from './admin-api.js';
import { form, heading } from './admin-parts.js';
import { make } from './dom.js';

/**
 * @param {{confidential: boolean, hasOwner: boolean, signOn?: string}} session
 * @param {(session: any) => void} enter
 * @returns {Node[]}
 */
export function door(session, enter) {
  if (!session.confidential) {
    return [
      heading('This connection is not encrypted', 'Others on the network could read your password, so you cannot sign in here.'),
      make('div', { class: 'card' },
        make('p', { text: 'Open this page over TLS (https), or on the server’s own machine.' }),
        make('p', { class: 'quiet', text: 'To turn TLS on, set tls.certificate and tls.key; behind a proxy with TLS, set http.trusted-proxies.' })),
    ];
  }
  const link = new URLSearchParams(location.hash.slice(1)).get('setup');
  return link ? setup(link, enter) : signIn(session, enter);
}

/** @param {string} link @param {(session: any) => void} enter */
function setup(link, enter) {
  return [
    heading('Become the owner', 'This link works once. Choose the name and the password that you will sign in with.'),
    make('div', { class: 'card door-form' }, form({
      name: 'setup',
      verb: 'Create the owner',
      keeps: true,
      fields: [
        { name: 'name', label: 'Name', required: true, autocomplete: 'username', maxlength: 256 },
        { name: 'password', label: 'Password', type: 'password', required: true, autocomplete: 'new-password', hint: '8 to 256 characters.' },
        { name: 'again', label: 'Repeat the password', type: 'password', required: true, autocomplete: 'new-password' },
      ],
      onsubmit: async ({ name, password, again }) => {
        if (password !== again) throw new Error('the passwords differ');
        const session = await call('POST', 'setup', { link, name, password });
        history.replaceState(null, '', '/admin/');
        enter(session);
        return `Welcome, ${name}.`;
      },
    })),
  ];
}

/** @param {{hasOwner: boolean, signOn?: string}} session @param {(session: any) => void} enter */
function signIn(session, enter) {
  return [
    heading('Sign in', session.hasOwner
      ? 'For the people who run this server. Readers sign in at their bookshelf.'
      : 'This server has no owner yet: open the link that it printed at its start, or create one with “carrel admin setup-link”.'),
    make('div', { class: 'card door-form' }, form({
      name: 'sign-in',
      verb: 'Sign in',
      keeps: true,
      fields: [
        { name: 'name', label: 'Name', required: true, autocomplete: 'username' },
        { name: 'password', label: 'Password', type: 'password', required: true, autocomplete: 'current-password' },
      ],
      onsubmit: async ({ name, password }) => { enter(await call('POST', 'session', { name, password })); },
    }), session.signOn ? make('p', { class: 'actions' }, make('a', { class: 'button button-quiet', href: '/sign-in/oidc?to=%2Fadmin%2F', text: session.signOn })) : null),
  ];
}
