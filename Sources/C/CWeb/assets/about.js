// SPDX-License-Identifier: Apache-2.0

// Who wrote it, who reads it, how long it is, and until when it may be heard.

import { byId, make } from './dom.js';
import { length, list, until, when } from './format.js';
import { languageTag } from './language.js';

/** @param {any} item of `GET /v1/shelf/{order}` */
export function showAbout(item) {
  const { title } = item;
  const facts = [
    [title.authors.length > 1 ? 'Authors' : 'Author', list(title.authors)],
    [title.narrators.length > 1 ? 'Narrators' : 'Narrator', list(title.narrators)],
    ['Length', length(title.duration)],
    ['Language', languageName(title.language)],
    term(item),
  ].filter(([, value]) => value);
  const paragraphs = (title.description ?? '').split(/\n\s*\n/).map((/** @type {string} */ text) => text.trim()).filter(Boolean);
  byId('panel-about').replaceChildren(
    make('div', { class: 'about', lang: languageTag(title.language) }, ...paragraphs.map((/** @type {string} */ text) => make('p', { dir: 'auto', text }))),
    make('dl', { class: 'facts' }, ...facts.flatMap(([name, value]) => [make('dt', { text: name }), make('dd', { dir: 'auto', text: value })])));
}

/** Until when it may be heard, or that this is over. @param {any} item @returns {[string, string]} */
function term(item) {
  const loan = item.kind === 'loan';
  const ends = item.endsAt ? new Date(item.endsAt) : null;
  const over = { returned: ['Loan', 'returned'], revoked: ['Order', 'withdrawn'], cancelled: ['Order', 'cancelled'] }[item.state];
  if (over) return over;
  if (item.state === 'expired' || (ends && ends <= new Date())) return [loan ? 'Loan ended' : 'Available until', ends ? when(ends) : 'over'];
  return [loan ? 'Loan ends' : 'Available until', ends ? `${when(ends)} (${until(ends)})` : ''];
}

/** @param {string|null} code */
function languageName(code) {
  const tag = languageTag(code);
  if (!tag) return code && code !== 'und' ? code : '';
  try {
    return new Intl.DisplayNames(['en'], { type: 'language' }).of(tag) ?? tag;
  } catch {
    return tag; // extensions have no name (ECMA-402 §12.5.1)
  }
}
