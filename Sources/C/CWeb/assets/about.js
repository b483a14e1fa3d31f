// Who wrote it, who reads it, how long it is, and until when it may be heard.

import { byId, make } from './dom.js';
import { length, list, until, when } from './format.js';

/** @param {any} item of `GET /v1/shelf/{order}` */
export function showAbout(item) {
  const { title } = item;
  const ends = item.endsAt ? new Date(item.endsAt) : null;
  const facts = [
    [title.authors.length > 1 ? 'Authors' : 'Author', list(title.authors)],
    [title.narrators.length > 1 ? 'Narrators' : 'Narrator', list(title.narrators)],
    ['Length', length(title.duration)],
    ['Language', languageName(title.language)],
    [item.kind === 'loan' ? 'Loan ends' : 'Available until', ends ? `${when(ends)} (${until(ends)})` : ''],
  ].filter(([, value]) => value);
  const paragraphs = (title.description ?? '').split(/\n\s*\n/).map((/** @type {string} */ text) => text.trim()).filter(Boolean);
  byId('panel-about').replaceChildren(
    make('div', { class: 'about', lang: title.language }, ...paragraphs.map((/** @type {string} */ text) => make('p', { text }))),
    make('dl', { class: 'facts' }, ...facts.flatMap(([name, value]) => [make('dt', { text: name }), make('dd', { text: value })])));
}

/** @param {string|null} code */
function languageName(code) {
  if (!code || code === 'und') return '';
  try {
    return new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? code;
  } catch {
    return code;
  }
}
