// SPDX-License-Identifier: Apache-2.0

// The licenses of the publication: their watermark lies over every page, and their end covers what they are for.

import { byId, make, setText } from './dom.js';
import { ask } from './read-api.js';

/** Milliseconds between two questions whether the license lasts. */
const interval = 750;
/** Repetitions of the watermark over one page. */
const marks = 15;

/** Lays a text over the pages, on the screen and on paper. @param {string} text */
function mark(text) {
  const overlay = make('div', { class: 'watermark', 'aria-hidden': 'true' });
  for (let count = 0; count < marks; count++) overlay.append(make('span', { text }));
  const stage = byId('stage');
  stage.append(overlay);
  // the last child is the uppermost: what a view adds later goes below it
  new MutationObserver(() => { if (stage.lastElementChild !== overlay) stage.append(overlay); }).observe(stage, { childList: true });
}

/** @param {string} reason @returns {string} a sentence */
const sentence = (reason) => `${reason[0].toUpperCase()}${reason.slice(1)}.`;

/** Covers the page for good. @param {string} reason */
function coverAll(reason) {
  setText(byId('cover-reason'), sentence(reason));
  document.documentElement.dataset.state = 'ended';
  for (const part of document.querySelectorAll('.reader > *:not(#cover)')) part.toggleAttribute('inert', true);
  byId('cover').hidden = false;
  byId('cover').focus();
}

/** Covers the resource on the screen; the reader may turn to others. @param {string} reason @returns {{cover: HTMLElement, words: HTMLElement}} the cover and its reason */
function coverStage(reason) {
  const words = make('p', { text: sentence(reason) });
  const cover = make('section', { class: 'part-cover', role: 'alert' }, make('h2', { text: 'You cannot read this part any more' }), words);
  byId('stage').append(cover);
  document.documentElement.dataset.state = 'covered';
  return { cover, words };
}

/**
 * Shows the watermark, and follows the licenses until they end.
 * @param {{watermark: string|null, drawsDocuments: boolean, canEnd: boolean}} answer of `book`
 * @param {() => string} current the address of the resource on the screen
 * @param {(isAll: boolean) => void} close takes the content off the page: of all resources, or of the one on the screen
 */
export function followLicense(answer, current, close) {
  if (answer.watermark) mark(answer.watermark);
  if (!answer.canEnd) return;
  let isOver = false;
  /** @type {{href: string, cover: HTMLElement, words: HTMLElement}|null} */
  let part = null;
  const look = async () => {
    const href = current();
    const state = await ask(`state?href=${encodeURIComponent(href)}`).catch(() => null);
    // the reader may have turned to another resource meanwhile
    if (!state || href !== current()) return;
    if (state.ended) {
      if (isOver) return setText(byId('cover-reason'), sentence(state.ended));
      isOver = true;
      close(true);
      return coverAll(state.ended);
    }
    // renewed, or under other conditions: all begins again
    if (isOver || state.watermark !== answer.watermark || state.drawsDocuments !== answer.drawsDocuments) return location.reload();
    if (part && part.href !== href) {
      part.cover.remove();
      part = null;
    }
    if (!state.covered) {
      if (part) location.reload();
      return;
    }
    if (part) return setText(part.words, sentence(state.covered));
    close(false);
    part = { href, ...coverStage(state.covered) };
  };
  setInterval(look, interval);
}
