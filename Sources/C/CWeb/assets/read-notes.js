// SPDX-License-Identifier: Apache-2.0

// Highlights and notes, as W3C Web Annotations.

import { byId, icon, make } from './dom.js';
import { normal } from './read-book.js';
import { tell } from './read-api.js';
import { openSheet } from './sheet.js';

const quoteOf = (annotation) => {
  const selectors = [annotation.target?.selector ?? []].flat();
  const quote = selectors.find((one) => one.type === 'TextQuoteSelector') ?? {};
  const progression = selectors.find((one) => one.type === 'ProgressionSelector')?.value;
  return { text: { before: quote.prefix, highlight: quote.exact, after: quote.suffix }, progression };
};
const noteOf = (annotation) => [annotation.body ?? []].flat().find((one) => one.type === 'TextualBody')?.value ?? '';

/** So much of the words as names them. */
const short = (annotation) => {
  const letters = [...(quoteOf(annotation).text.highlight ?? '')];
  return letters.length > 60 ? `${letters.slice(0, 60).join('')}…` : letters.join('');
};

export class Notes {
  /**
   * @param {any[]} kept
   * @param {{changed: () => void, go: (annotation: any) => void, headingOf: (href: string) => string, say: (text: string) => void}} page
   */
  constructor(kept, page) {
    this.all = kept;
    this.page = page;
    this.edited = null;
    byId('note-form').addEventListener('submit', () => this.write());
    byId('note-remove').addEventListener('click', () => { this.remove(this.edited); /** @type {HTMLDialogElement} */ (byId('note-sheet')).close(); });
    /** The place in the list from which a sheet was opened. */
    this.opener = -1;
    byId('note-sheet').addEventListener('close', () => { this.focus(this.opener, 'edit'); this.opener = -1; });
    byId('notes-import').addEventListener('change', (event) => this.take(/** @type {HTMLInputElement} */ (event.target)));
    this.list();
  }

  /** The annotations of a document. @param {string} href */
  marksOf(href) {
    return this.all.filter((one) => normal(one.target?.source ?? '') === normal(href))
      .map((one) => ({ id: one.id, color: one.target?.styleClass ?? 'yellow', ...quoteOf(one) }));
  }

  /** @param {string} href @param {any} chosen what the document says is selected */
  add(href, chosen, color) {
    const annotation = {
      '@context': 'http://www.w3.org/ns/anno.jsonld',
      id: `urn:uuid:${crypto.randomUUID()}`,
      type: 'Annotation',
      motivation: 'highlighting',
      created: new Date().toISOString(),
      target: {
        type: 'SpecificResource', source: href, styleClass: color,
        selector: [
          { type: 'TextQuoteSelector', exact: chosen.exact, prefix: chosen.prefix, suffix: chosen.suffix },
          { type: 'ProgressionSelector', value: chosen.progression },
        ],
      },
    };
    this.all.push(annotation);
    this.keep(annotation);
    return annotation;
  }

  async keep(annotation) {
    this.changed();
    try {
      await tell(`annotations/${encodeURIComponent(annotation.id)}`, 'PUT', annotation);
    } catch (error) {
      this.page.say(`Not saved: ${error instanceof Error ? error.message : error}`);
    }
  }

  async remove(annotation) {
    this.all = this.all.filter((one) => one !== annotation);
    this.changed();
    this.page.say('Highlight removed.');
    await tell(`annotations/${encodeURIComponent(annotation.id)}`, 'DELETE').catch(() => this.page.say('Not removed: the reader’s server does not respond.'));
  }

  changed() {
    this.list();
    this.page.changed();
  }

  /** Opens the sheet of one annotation. @param {string} id */
  edit(id) {
    this.edited = this.all.find((one) => one.id === id);
    if (!this.edited) return;
    this.opener = this.focused();
    byId('note-quote').textContent = quoteOf(this.edited).text.highlight ?? '';
    /** @type {HTMLTextAreaElement} */ (byId('note-text')).value = noteOf(this.edited);
    openSheet(byId('note-sheet'));
    byId('note-text').focus();
  }

  write() {
    const value = /** @type {HTMLTextAreaElement} */ (byId('note-text')).value.trim();
    const annotation = this.edited;
    if (!annotation) return;
    annotation.modified = new Date().toISOString();
    annotation.motivation = value ? 'commenting' : 'highlighting';
    if (value) annotation.body = { type: 'TextualBody', value, format: 'text/plain', purpose: 'commenting' };
    else delete annotation.body;
    this.keep(annotation);
  }

  /** @param {HTMLInputElement} input */
  async take(input) {
    const file = input.files?.[0];
    input.value = '';
    if (!file) return;
    try {
      const answer = await tell('annotations', 'POST', JSON.parse(await file.text()));
      const taken = answer.first.items;
      const ids = new Set(taken.map((one) => one.id));
      this.all = this.all.filter((one) => !ids.has(one.id)).concat(taken);
      this.changed();
      this.page.say(taken.length === 1 ? '1 annotation imported.' : `${taken.length} annotations imported.`);
    } catch (error) {
      this.page.say(`Not imported: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** The place in the list of what has the focus; -1 for none. */
  focused() {
    const item = document.activeElement?.closest('#notes-list > li');
    return item ? [...byId('notes-list').children].indexOf(item) : -1;
  }

  /** Focuses a button in the list, also if the focused one was removed. @param {number} at @param {string} name */
  focus(at, name) {
    if (at < 0) return;
    const items = byId('notes-list').children;
    const button = items[Math.min(at, items.length - 1)]?.querySelector(`[data-does="${name}"]`);
    (button instanceof HTMLElement ? button : byId('notes-empty')).focus();
  }

  list() {
    const focused = this.focused(), name = document.activeElement?.getAttribute('data-does') ?? 'go';
    byId('notes-empty').hidden = this.all.length > 0;
    byId('notes-list').replaceChildren(...this.all.map((one) => make('li', { class: 'note' },
      make('button', { type: 'button', class: 'result', 'data-does': 'go', onclick: () => this.page.go({ href: one.target.source, ...quoteOf(one) }) },
        make('span', { class: 'result-place', dir: 'auto', text: this.page.headingOf(one.target.source) }),
        make('span', { class: `result-text mark-${one.target.styleClass ?? 'yellow'}`, dir: 'auto' }, make('mark', { text: quoteOf(one).text.highlight ?? '' })),
        noteOf(one) ? make('span', { class: 'note-words', dir: 'auto', text: noteOf(one) }) : null),
      make('button', { type: 'button', class: 'tool-button', 'data-does': 'edit', 'aria-label': `Edit note on “${short(one)}”`, onclick: () => this.edit(one.id) }, icon('note')),
      make('button', { type: 'button', class: 'tool-button', 'data-does': 'remove', 'aria-label': `Remove highlight “${short(one)}”`, onclick: () => this.remove(one) }, icon('trash')))));
    this.focus(focused, name);
  }
}
