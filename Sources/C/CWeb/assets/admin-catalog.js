// SPDX-License-Identifier: Apache-2.0

// Titles and editions: the catalog for sales, loans and subscriptions.

import { call } from './admin-api.js';
import { pagedList } from './admin-list.js';
import { action, actions, attempt, heading, mark, section, table, time } from './admin-parts.js';
import { ask } from './admin-question.js';
import { coverUpload, editionUpload, titleUpload } from './admin-upload.js';
import { make } from './dom.js';

/** @param {import('./admin.js').Me} me @returns {Node[]} */
export function catalogView(me) {
  const titles = make('div', { id: 'titles' });
  const editions = make('div', { id: 'editions' });
  const covers = make('div', { class: 'upload-place' });
  const mayChange = me.may('catalog.change');
  const reloadTitles = pagedList(titles, 'titles', 50, (shown) => table('Titles', ['Title', 'Authors', 'Kind', 'Id', 'Since', ''], shown.map((title) => [
    auto(title.title ?? ''), (title.authors ?? []).join(', ') || '–', title.kind ?? '–', make('code', { text: title.id }), time(title.createdAt),
    mayChange ? coverUpload(title.id, title.title ?? title.id, covers) : null,
  ]), mayChange ? 'No titles yet: upload an audiobook below, or use “carrel ingest”.' : 'No titles yet.'));
  const reloadEditions = pagedList(editions, 'editions', 50, (shown, reload) => table('Editions', ['Product', 'Title', 'Price', 'File', 'State', 'Issued', ''], shown.map(({ title, kind, edition }) => [
    edition.productId, auto(title), edition.price, files[edition.licensed] ?? '–',
    mark(edition.state, edition.state === 'published' ? 'good' : 'calm'), time(edition.issuedAt),
    mayChange ? changes(edition, kind, reload) : null,
  ]), mayChange ? 'No editions yet: upload one below, or use “carrel ingest”.' : 'No editions yet.'));
  const reload = () => Promise.all([reloadTitles(), reloadEditions()]);
  return [
    heading('Titles', 'The audiobooks and editions in your catalog.'),
    section('Editions', editions), section('Titles', titles, covers),
    ...(mayChange ? [titleUpload(reload), editionUpload(reload)] : []),
  ];
}

/** The files that an edition is published as. @type {Record<string, string>} */
const files = { off: 'clear', also: 'clear and protected', only: 'protected' };

/** @param {any} edition @param {string} kind @param {() => unknown} reload */
function changes(edition, kind, reload) {
  const path = `editions/${encodeURIComponent(edition.productId)}`;
  const [price, otherwise] = edition.price === 'paid' ? ['free', 'Make it free'] : ['paid', 'Make it paid'];
  return actions(
    action(otherwise, async () => {
      if (price === 'free' && !await ask(`Make ${edition.productId} free? All readers can then download it.`, otherwise)) return;
      await attempt(async () => {
        await call('PATCH', path, { price });
        await reload();
        return `${edition.productId} is ${price}.`;
      });
    }, edition.productId),
    edition.state === 'published' ? null : action('Publish', () => attempt(async () => {
      await call('POST', `${path}/publish`, {});
      await reload();
      return `Published ${edition.productId}.`;
    }), edition.productId),
    edition.state === 'withdrawn' ? null : action('Withdraw', async () => {
      if (!await ask(`Withdraw ${edition.productId}? Readers can no longer download it.`, 'Withdraw it')) return;
      await attempt(async () => {
        await call('POST', `${path}/withdraw`, {});
        await reload();
        return `Withdrew ${edition.productId}.`;
      });
    }, edition.productId),
    ...protections(edition, kind, path, reload));
}

/** The choices of files; a protected file is of an EPUB or a PDF. @param {any} edition @param {string} kind @param {string} path @param {() => unknown} reload */
function protections(edition, kind, path, reload) {
  if (!['ebook', 'pdf'].includes(kind)) return [];
  /** @type {[string, string, string][]} */
  const choices = [
    ['off', 'Clear file only', 'The protected file can no longer be downloaded.'],
    ['also', 'Clear and protected file', ''],
    ['only', 'Protected file only', 'The clear file can no longer be downloaded.'],
  ];
  return choices.filter(([licensed]) => licensed !== edition.licensed).map(([licensed, text, consequence]) => action(text, async () => {
    if (consequence && !await ask(`Change the files of ${edition.productId}? ${consequence}`, text)) return;
    await attempt(async () => {
      await call('PATCH', path, { licensed });
      await reload();
      return `${edition.productId}: ${text.toLowerCase()}.`;
    });
  }, edition.productId));
}

/** A title, in the direction of its own script. @param {string} text */
const auto = (text) => make('span', { dir: 'auto', text });
