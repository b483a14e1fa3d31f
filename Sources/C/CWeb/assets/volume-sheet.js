// SPDX-License-Identifier: Apache-2.0

// Volume and mute, if the browser lets a page set them.

import { byId, setIcon } from './dom.js';
import { recall, remember } from './store.js';
import { openSheet, prepareSheet } from './sheet.js';

/** @param {import('./player.js').Player} player */
export function connectVolume(player) {
  const sheet = byId('volume-sheet');
  const slider = /** @type {HTMLInputElement} */ (byId('volume-slider'));
  const mute = byId('mute');
  const open = byId('volume-open');
  prepareSheet(sheet);
  open.addEventListener('click', () => openSheet(sheet));
  slider.addEventListener('input', () => { player.volume = slider.valueAsNumber; });
  mute.addEventListener('click', () => { player.muted = !player.muted; });

  const show = () => {
    const silent = player.muted || player.volume === 0;
    const percent = Math.round(player.volume * 100);
    slider.valueAsNumber = player.volume;
    slider.style.setProperty('--fill', `${player.muted ? 0 : percent}%`);
    slider.setAttribute('aria-valuetext', player.muted ? `muted, ${percent} percent` : `${percent} percent`);
    mute.setAttribute('aria-pressed', String(player.muted));
    for (const element of [mute, open]) setIcon(element, silent ? 'volume-off' : 'volume');
  };
  player.volume = recall('volume') ?? 1;
  player.addEventListener('volume', () => {
    remember('volume', player.volume);
    show();
  });
  show();

  // iPhones leave the volume to their buttons: setting it changes nothing there.
  const probe = document.createElement('audio');
  probe.volume = 0.5;
  const fixed = probe.volume !== 0.5;
  byId('volume-fixed').hidden = !fixed;
  slider.disabled = fixed;
}
