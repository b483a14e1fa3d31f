// SPDX-License-Identifier: Apache-2.0

// Choosing how fast the narrator speaks; each title remembers its own speed.

import { byId, make, setText } from './dom.js';
import { length, speed } from './format.js';
import { recall, remember } from './store.js';
import { openSheet, prepareSheet } from './sheet.js';

const presets = [0.75, 1, 1.25, 1.5, 1.75, 2];

/**
 * @param {import('./player.js').Player} player
 * @param {string} title identifier that the speed is remembered for
 */
export function connectSpeed(player, title) {
  const sheet = byId('speed-sheet');
  const slider = /** @type {HTMLInputElement} */ (byId('speed-slider'));
  prepareSheet(sheet);
  byId('speed-open').addEventListener('click', () => {
    show();
    openSheet(sheet);
  });
  const buttons = presets.map((preset) => make('button', {
    type: 'button', class: 'preset', text: speed(preset), 'aria-label': `${preset} times`,
    onclick: () => { player.speed = preset; },
  }));
  byId('speed-presets').append(...buttons);
  slider.addEventListener('input', () => { player.speed = slider.valueAsNumber; });

  const show = () => {
    const value = player.speed;
    setText(byId('speed-value'), speed(value));
    setText(byId('speed-now'), speed(value));
    slider.valueAsNumber = value;
    slider.style.setProperty('--fill', `${(value - 0.5) / 2.5 * 100}%`);
    slider.setAttribute('aria-valuetext', `${value} times`);
    buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(presets[i] === value)));
    setText(byId('speed-left'), `${length((player.duration - player.time) / value)} left at this speed`);
  };
  player.speed = recall(`speed.${title}`) ?? recall('speed') ?? 1;
  player.addEventListener('speed', () => {
    remember('speed', player.speed);
    remember(`speed.${title}`, player.speed);
    show();
  });
  show();
}
