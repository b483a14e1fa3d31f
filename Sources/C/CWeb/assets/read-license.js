// SPDX-License-Identifier: Apache-2.0

// The license of the publication: its watermark lies over every page, and its end covers the page.

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

/**
 * Shows the watermark, and follows the license until it ends.
 * @param {{watermark: string|null, canEnd: boolean}} answer of `book`
 * @param {() => void} close takes the content off the page
 */
export function followLicense({ watermark, canEnd }, close) {
  if (watermark) mark(watermark);
  if (!canEnd) return;
  let isCovered = false;
  const look = async () => {
    const { ended } = await ask('state').catch(() => ({ ended: undefined }));
    if (ended === undefined) return;
    if (!ended) {
      // renewed: all begins again
      if (isCovered) location.reload();
      return;
    }
    setText(byId('cover-reason'), `${ended[0].toUpperCase()}${ended.slice(1)}.`);
    if (isCovered) return;
    isCovered = true;
    close();
    document.documentElement.dataset.state = 'ended';
    for (const part of document.querySelectorAll('.reader > *:not(#cover)')) part.toggleAttribute('inert', true);
    byId('cover').hidden = false;
    byId('cover').focus();
  };
  setInterval(look, interval);
}
