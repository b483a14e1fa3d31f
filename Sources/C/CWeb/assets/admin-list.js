// SPDX-License-Identifier: Apache-2.0

// Lists in pages: only the result of the last request is shown.

import { call, query } from './admin-api.js';
import { more } from './admin-parts.js';
import { make } from './dom.js';
import { newest } from './newest.js';

/**
 * Fills `place` with a list, and requests it immediately.
 *
 * @param {HTMLElement} place
 * @param {string} path of the list, below `/admin/v1/`
 * @param {number} limit entries on a page
 * @param {(shown: any[], reload: () => Promise<void>) => Node} show
 * @param {string} [member] the member of the response with the entries
 * @returns {(wanted?: Record<string, any>) => Promise<void>} reloads with other filters
 */
export function pagedList(place, path, limit, show, member = path) {
  const asking = newest();
  /** @type {any[]} */
  let shown = [];
  /** @type {Record<string, any>} */
  let wanted = {};
  /** @param {string} [after] @returns {Promise<void>} */
  const load = async (after) => {
    const asked = wanted;
    const answer = await asking((signal) => call('GET', `${path}${query({ ...asked, limit, after })}`, undefined, signal));
    if (!answer) return;
    /** The next page of this list, unless another is being requested. @param {string} [from] */
    const next = async (from) => { if (wanted === asked) await load(from); };
    shown = after ? [...shown, ...answer[member]] : answer[member];
    place.replaceChildren(show(shown, () => load()), more(answer.next, next) ?? '');
  };
  load().catch((error) => place.replaceChildren(make('p', { class: 'notice', text: error.message })));
  return (values = wanted) => {
    wanted = values;
    return load();
  };
}
