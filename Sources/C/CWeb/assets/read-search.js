// SPDX-License-Identifier: Apache-2.0

// The search sheet.

import { byId, make } from './dom.js';
import { newest } from './newest.js';
import { ask } from './read-api.js';

/** @param {(locator: import('./read-book.js').Locator) => void} go @param {(href: string) => string} headingOf */
export function prepareSearch(go, headingOf) {
  const input = /** @type {HTMLInputElement} */ (byId('search-words'));
  const list = byId('search-results');
  const more = /** @type {HTMLButtonElement} */ (byId('search-more'));
  const asking = newest();
  let query = '', next = null, count = 0;

  async function look(isMore) {
    if (!isMore) { list.replaceChildren(); count = 0; next = null; }
    more.hidden = true;
    byId('search-state').textContent = 'Searching…';
    try {
      // a response may be empty and still have a position to continue from: books are long
      const answer = await asking(async (signal) => {
        for (let from = next; ; ) {
          const found = await ask(`search?query=${encodeURIComponent(query)}${from ? `&from=${from}` : ''}`, { signal });
          if (found.locators.length || !found.next) return found;
          from = found.next;
        }
      });
      if (!answer) return;
      next = answer.next;
      count += answer.locators.length;
      list.append(...answer.locators.map(item));
      const found = next ? `${count} places so far` : count === 1 ? '1 place' : `${count} places`;
      byId('search-state').textContent = count ? found : 'Nothing found.';
      more.hidden = !next;
    } catch (error) {
      byId('search-state').textContent = `The search failed: ${error instanceof Error ? error.message : error}`;
    }
  }

  function item(locator) {
    const { before = '', highlight = '', after = '' } = locator.text ?? {};
    return make('li', {}, make('button', { type: 'button', class: 'result', onclick: () => go(locator) },
      make('span', { class: 'result-place', dir: 'auto', text: headingOf(locator.href) }),
      make('span', { class: 'result-text', dir: 'auto' }, `…${before}`, make('mark', { text: highlight }), `${after}…`)));
  }

  byId('search-form').addEventListener('submit', (event) => {
    event.preventDefault();
    query = input.value.trim();
    if (query) look(false);
  });
  more.addEventListener('click', () => look(true));
}
