// SPDX-License-Identifier: Apache-2.0

// Keeps the place: writes the interval log while the player plays, sends it, and remembers the place in this browser.

import { deviceId, deviceName } from './device.js';
import { ListeningLog } from './positions.js';
import { remember } from './store.js';

/** Milliseconds between two notes of the place in this browser. */
const noteEvery = 3000;
/** Milliseconds after which a jump while paused counts as meant. */
const settled = 1500;

/** The key of an order's place in this browser. @param {string} order */
export const placeKey = (order) => `place.${order}`;

/**
 * @param {import('./player.js').Player} player
 * @param {string} order
 * @param {import('./outbox.js').Outbox} outbox
 * @returns {{lastActive: () => number}} when this page last moved the place, in milliseconds since 1970
 */
export function keepPlace(player, order, outbox) {
  const log = new ListeningLog({ id: order, deviceId, deviceName }, (interval) => outbox.add(interval));
  let noted = 0;
  let active = 0;
  let marking = 0;
  const note = () => {
    noted = active = Date.now();
    remember(placeKey(order), { seconds: Math.round(player.time * 1000) / 1000, at: noted });
  };
  const stop = () => {
    log.end(player.time);
    note();
    outbox.flush();
  };

  let playing = false;
  player.addEventListener('state', () => {
    const now = player.state === 'playing';
    if (now && !playing) log.begin(player.time, player.speed);
    if (!now && playing) stop();
    playing = now;
  });
  player.addEventListener('time', () => {
    if (!playing) return;
    log.tick(player.time);
    if (Date.now() - noted < noteEvery) return;
    note();
    if (!outbox.isEmpty) outbox.flush();
  });
  player.addEventListener('speed', () => {
    if (!playing) return;
    log.end(player.time);
    log.begin(player.time, player.speed);
  });
  player.addEventListener('jump', (event) => {
    log.end(/** @type {CustomEvent} */ (event).detail.from);
    clearTimeout(marking);
    marking = setTimeout(() => {
      if (!player.wanted) log.mark(player.time);
      note();
      outbox.flush();
    }, settled);
  });

  // A phone may take a hidden page away without another word.
  const leave = () => {
    if (playing) {
      log.end(player.time);
      log.begin(player.time, player.speed);
      note();
    }
    outbox.flushOnLeave();
  };
  addEventListener('pagehide', leave);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') leave();
  });
  return { lastActive: () => active };
}
