// SPDX-License-Identifier: Apache-2.0

// What the administrator's views are made of: headings, forms, tables, questions.

import { byId, make } from './dom.js';

/** @type {number|undefined} */
let hush;

/** When something was said last, in milliseconds. */
let saidAt = -Infinity;

/** Clears the messages of the previous view; messages that led to this one stay. */
export function quietenOld() {
  if (performance.now() - saidAt > 300) quieten();
}

/** Clears the message. */
export function quieten() {
  clearTimeout(hush);
  byId('said').textContent = '';
}

/** Announces an outcome; success messages disappear after a while. @param {string} text @param {boolean} [isTrouble] */
export function say(text, isTrouble = false) {
  saidAt = performance.now();
  const said = byId('said');
  said.classList.toggle('said-trouble', isTrouble);
  quieten();
  // The same words twice are news too: an empty region in between makes them so.
  hush = setTimeout(() => {
    said.textContent = text;
    if (!isTrouble) hush = setTimeout(quieten, 8000);
  }, 50);
}

/** Reloads the view, keeping the scroll position. @returns {Promise<void>} */
export function refresh() {
  return new Promise((done) => { dispatchEvent(new CustomEvent('refresh', { detail: done })); });
}

/** Shows an error next to an element; does nothing if the element was removed. @param {Element|null} near @param {string} text */
function complain(near, text) {
  if (!near?.isConnected) return false;
  near.parentElement?.querySelector(':scope > .problem')?.remove();
  const problem = make('p', { class: 'problem', role: 'alert' });
  near.after(problem);
  // Said when it is there already: an alert that comes with its words is not read everywhere.
  problem.textContent = text;
  problem.scrollIntoView({ block: 'nearest' });
  return true;
}

/** Clears the message next to it. @param {Element|null} near */
function calm(near) {
  near?.parentElement?.querySelector(':scope > .problem')?.remove();
}

/**
 * Runs an action and shows its result: success for the whole page, failure next to the pressed element.
 * @param {() => Promise<string|boolean|void>} work returns the message; false if it has already shown a failure
 */
export async function attempt(work) {
  const at = document.activeElement;
  const near = at?.closest('.form') ?? at?.closest('.scroll, .actions') ?? null;
  calm(near);
  try {
    const text = await work();
    if (typeof text === 'string' && text) say(text);
    return text !== false;
  } catch (error) {
    const text = sentence(`The action failed: ${error instanceof Error ? error.message : error}`);
    quieten();
    if (!complain(near, text)) say(text, true);
    return false;
  }
}

/** @param {string} text */
const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** @param {string} title @param {string} [text] */
export function heading(title, text) {
  return make('div', { class: 'heading' }, make('h1', { text: title }), text ? make('p', { class: 'quiet', text }) : null);
}

/** @param {string} title @param {...(Node|string|null)} children */
export function section(title, ...children) {
  return make('section', { class: 'card' }, make('h2', { text: title }), ...children);
}

let fieldCount = 0;

/**
 * @typedef {{name: string, label: string, type?: string, options?: [string, string][], required?: boolean, value?: string,
 *   hint?: string, autocomplete?: string, accept?: string, min?: number, maxlength?: number, hidden?: boolean}} Field
 *   hidden: only for the browser's password manager
 * @param {Field} field
 */
function fieldOf(field) {
  const id = `field-${fieldCount += 1}`;
  const { name, label, type = 'text', options, required, value, hint } = field;
  /** @type {HTMLElement} */
  let input;
  if (options) {
    input = make('select', { id, name }, ...options.map(([key, text]) => make('option', { value: key, text, selected: key === value })));
  } else if (type === 'textarea') {
    input = make('textarea', { id, name, required, rows: 3, spellcheck: 'false', autocapitalize: 'none', 'aria-describedby': hint ? `${id}-hint` : null });
  } else if (type === 'file') {
    input = make('input', { id, name, type, required, accept: field.accept, 'aria-describedby': hint ? `${id}-hint` : null });
  } else if (type === 'checkbox') {
    input = make('input', { id, name, type, checked: value === 'true' });
    return make('p', { class: 'field field-check' }, input, make('label', { for: id, text: label }));
  } else {
    input = make('input', {
      id, name, type, required, value, min: field.min, maxlength: field.maxlength,
      autocomplete: field.autocomplete ?? 'off', spellcheck: 'false', autocapitalize: 'none',
      'aria-describedby': hint ? `${id}-hint` : null,
    });
    if (field.hidden) {
      input.hidden = true;
      return input;
    }
  }
  return make('p', { class: type === 'textarea' || type === 'file' ? 'field field-wide' : 'field' },
    make('label', { for: id, text: label }), input, hint ? make('span', { id: `${id}-hint`, class: 'quiet', text: hint }) : null);
}

/**
 * @param {{fields: Field[], verb: string, quiet?: boolean, name?: string, onsubmit: (values: Record<string, string>) => Promise<string|boolean|void>, keeps?: boolean, repeats?: boolean}} options
 *   keeps: whether the input stays after success. repeats: whether it may be sent again before the response, like a search
 */
export function form({ fields, verb, quiet = false, name, onsubmit, keeps = false, repeats = false }) {
  let waiting = 0;
  const button = make('button', { class: quiet ? 'button button-quiet' : 'button', text: verb });
  const element = make('form', { class: 'form', name, 'aria-label': verb }, ...fields.map(fieldOf), make('p', { class: 'actions' }, button));
  element.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (!element.contains(document.activeElement)) button.focus();
    /** @type {Record<string, string>} */
    const values = {};
    for (const field of fields) {
      const control = /** @type {HTMLInputElement} */ (element.elements.namedItem(field.name));
      values[field.name] = field.type === 'checkbox' ? String(control.checked) : control.value;
    }
    if (waiting > 0 && !repeats) return;
    waiting += 1;
    element.setAttribute('aria-busy', 'true');
    const worked = await attempt(() => onsubmit(values));
    waiting -= 1;
    if (waiting === 0) element.removeAttribute('aria-busy');
    if (worked && !keeps && element.isConnected) element.reset();
  });
  return element;
}

/**
 * @param {string} caption
 * @param {string[]} columns
 * @param {(Node|string|null)[][]} rows
 * @param {string} [empty] shown if there are no rows
 */
export function table(caption, columns, rows, empty = 'There is nothing here yet.') {
  if (rows.length === 0) return make('p', { class: 'quiet', text: empty });
  return make('div', { class: 'scroll' }, make('table', {},
    make('caption', { class: 'visually-hidden', text: caption }),
    make('thead', {}, make('tr', {}, ...columns.map((text) => make('th', { scope: 'col', text })))),
    make('tbody', {}, ...rows.map((cells) => make('tr', {}, ...cells.map((cell, column) => (column === 0
      ? make('th', { scope: 'row' }, cell ?? '')
      : make('td', { 'data-label': columns[column] }, cell ?? ''))))))));
}

/** @param {[string, Node|string|null][]} pairs */
export function facts(pairs) {
  return make('dl', { class: 'facts' }, ...pairs.map(([name, value]) => make('div', {}, make('dt', { text: name }), make('dd', {}, value ?? '–'))));
}

/** @param {string} text @param {() => unknown} onclick @param {string} [about] its subject, for screen readers */
export function action(text, onclick, about) {
  return make('button', { type: 'button', class: 'link', onclick }, text, about ? make('span', { class: 'visually-hidden', text: ` ${about}` }) : null);
}

/** @param {...(Node|null)} children */
export function actions(...children) {
  return make('span', { class: 'row-actions' }, ...children);
}

/** @param {string} word @param {'good'|'bad'|'calm'} tone */
export function mark(word, tone) {
  return make('span', { class: `mark mark-${tone}`, text: word });
}

const formatter = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** @param {string|null|undefined} instant @param {boolean} [isExact] */
export function time(instant, isExact = false) {
  if (!instant) return '–';
  return make('time', { datetime: instant, text: (isExact ? exact : formatter).format(new Date(instant)) });
}

/** The instant of a field of a date and a time, in local time; undefined if empty. @param {string} value */
export function instantOf(value) {
  return value ? new Date(value).toISOString() : undefined;
}

/** A button for the next page of a list. @param {string|undefined} next @param {(after: string) => unknown} load */
export function more(next, load) {
  return next ? make('p', { class: 'actions' }, make('button', { type: 'button', class: 'button button-quiet', text: 'More', onclick: () => load(next) })) : null;
}
