// SPDX-License-Identifier: Apache-2.0

// Covers: the publisher's picture, or a plain one with the title on its own color.

import { make } from './dom.js';

/**
 * @param {{id: string, title: string, authors: string[], cover: string|null}} title
 * @param {{eager?: boolean}} [options]
 * @returns {HTMLElement}
 */
export function coverOf(title, { eager = false } = {}) {
  const frame = make('div', { class: 'cover' });
  const plain = () => {
    frame.classList.add('cover-plain');
    frame.style.setProperty('--hue', String(hue(title.id + title.title)));
    frame.replaceChildren(
      make('span', { class: 'cover-title', dir: 'auto', 'aria-hidden': 'true', text: title.title }),
      make('span', { class: 'cover-author', dir: 'auto', 'aria-hidden': 'true', text: title.authors[0] ?? '' }));
  };
  if (!title.cover) {
    plain();
    return frame;
  }
  const image = make('img', { src: title.cover, alt: '', width: 800, height: 800, decoding: 'async', loading: eager ? 'eager' : 'lazy' });
  image.addEventListener('error', plain);
  frame.append(image);
  return frame;
}

/** A hue that stays the same for the same title. @param {string} text */
function hue(text) {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 3600;
  return sum / 10;
}
