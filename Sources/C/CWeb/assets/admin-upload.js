// SPDX-License-Identifier: Apache-2.0

// Files sent to the catalog: an audiobook, an edition, a cover; with how far they are, and a way to stop.

import { query, upload } from './admin-api.js';
import { attempt, form, say, section } from './admin-parts.js';
import { make } from './dom.js';

/** @param {number} bytes */
export function size(bytes) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** How far a file is. @param {string} name */
function progressOf(name) {
  const bar = make('progress', { max: 1, value: 0, 'aria-label': `Sending ${name}` });
  const text = make('span', { class: 'quiet' });
  const stop = make('button', { type: 'button', class: 'button button-quiet', text: 'Stop' });
  const element = make('div', { class: 'upload' }, bar, text, stop);
  const abort = new AbortController();
  stop.addEventListener('click', () => abort.abort());
  return {
    element,
    signal: abort.signal,
    /** @param {number} sent @param {number} total */
    show(sent, total) {
      if (sent < total) {
        bar.value = sent / total;
        text.textContent = `${size(sent)} of ${size(total)}`;
      } else if (!text.textContent?.startsWith('Sent')) {
        bar.removeAttribute('value');
        text.textContent = 'Uploaded; the server is processing it…';
        say(`${name} is uploaded; the server is processing it.`);
      }
    },
  };
}

/**
 * @param {HTMLElement} place where to show how far it is
 * @param {'POST'|'PUT'} method @param {string} path @param {File} file
 */
export async function send(place, method, path, file) {
  const progress = progressOf(file.name);
  place.replaceChildren(progress.element);
  try {
    return await upload(method, path, file, progress.signal, progress.show);
  } finally {
    place.replaceChildren();
  }
}

/** @param {any} answer @param {string} name */
function outcome(answer, name) {
  const warnings = answer.warnings.length > 0 ? ` ${answer.warnings.join('; ')}.` : '';
  return `${answer.created ? 'Added' : answer.replaced ? 'Replaced' : 'Already in the catalog:'} ${name}.${warnings}`;
}

/** @param {string} text */
const list = (text) => text.split(',').map((one) => one.trim()).filter(Boolean);

/** @param {string} name @param {HTMLFormElement} element @returns {File} */
function chosen(name, element) {
  const file = /** @type {HTMLInputElement} */ (element.elements.namedItem(name)).files?.[0];
  if (!file) throw new Error('choose a file first');
  return file;
}

/** @param {() => Promise<unknown>} reload @returns {Node} */
export function titleUpload(reload) {
  const place = make('div', { class: 'upload-place' });
  const element = form({
    name: 'upload-title', verb: 'Upload the audiobook',
    fields: [
      { name: 'file', label: 'File', type: 'file', required: true, accept: 'audio/*,.mp3,.m4a,.m4b,.aac,.flac,.ogg,.opus,.wav,.zip', hint: 'MP3, M4B, FLAC and others, or a ZIP of chapters; at most 8 GiB.' },
      { name: 'title', label: 'Title', maxlength: 500, hint: 'Empty: read from the file, here and below.' },
      { name: 'authors', label: 'Authors', hint: 'Separated by commas.' },
      { name: 'narrators', label: 'Narrators', hint: 'Separated by commas.' },
      { name: 'isbn', label: 'ISBN', maxlength: 20 },
    ],
    onsubmit: async ({ title, authors, narrators, isbn }) => {
      const answer = await send(place, 'POST', `titles${query({ title, author: list(authors), narrator: list(narrators), isbn })}`, chosen('file', element));
      await reload();
      return outcome(answer, answer.titles[0].title);
    },
  });
  return section('Add an audiobook', element, place);
}

/** @param {() => Promise<unknown>} reload @returns {Node} */
export function editionUpload(reload) {
  const place = make('div', { class: 'upload-place' });
  const element = form({
    name: 'upload-edition', verb: 'Upload the edition',
    fields: [
      { name: 'file', label: 'File', type: 'file', required: true, accept: '.epub,.pdf,.zip,application/epub+zip,application/pdf,application/zip', hint: 'An EPUB, a PDF, or a ZIP of HTML pages. If the product id exists, this file replaces its content.' },
      { name: 'productId', label: 'Product id', required: true, maxlength: 256, hint: 'The id that apps and plans use.' },
      { name: 'price', label: 'Price', options: [['paid', 'paid: for entitled readers'], ['free', 'free: for all readers']] },
      { name: 'title', label: 'Title', maxlength: 500, hint: 'Empty: read from the file.' },
      { name: 'issued', label: 'Issued', type: 'datetime-local', hint: 'Empty: now.' },
      { name: 'draft', label: 'Keep as draft until published here', type: 'checkbox' },
    ],
    onsubmit: async ({ productId, price, title, issued, draft }) => {
      const path = `editions${query({ productId, price, title, issued: issued ? new Date(issued).toISOString() : '', draft: draft === 'true' ? 'true' : '' })}`;
      const answer = await send(place, 'POST', path, chosen('file', element));
      await reload();
      return outcome(answer, answer.titles[0].title);
    },
  });
  return section('Add an edition', element, place);
}

/** A button that takes a picture for a title. @param {string} id @param {string} name @param {HTMLElement} place */
export function coverUpload(id, name, place) {
  const input = make('input', { type: 'file', hidden: true, accept: 'image/jpeg,image/png,image/gif,image/webp', 'aria-label': `Cover of ${name}` });
  const button = make('button', { type: 'button', class: 'link' }, 'Cover', make('span', { class: 'visually-hidden', text: ` of ${name}` }));
  button.addEventListener('click', () => input.click());
  input.addEventListener('change', () => {
    const file = input.files?.[0];
    if (!file) return;
    button.focus();
    attempt(async () => {
      await send(place, 'PUT', `titles/${encodeURIComponent(id)}/cover`, file);
      input.value = '';
      return `${name} has a new cover.`;
    });
  });
  return make('span', {}, button, input);
}
