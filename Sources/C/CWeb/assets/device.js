// SPDX-License-Identifier: Apache-2.0

// The name of this browser for resuming on other devices.

import { randomHex, recall, remember } from './store.js';

/** @type {string} an identifier that this browser keeps */
export const deviceId = recall('device') ?? randomHex(12);
remember('device', deviceId);

/** @type {string} such as "Firefox on Android" */
export const deviceName = nameOf(navigator.userAgent);

/** @param {string} agent @returns {string} */
export function nameOf(agent) {
  const browser = /Edg/.test(agent) ? 'Edge'
    : /OPR|Opera/.test(agent) ? 'Opera'
    : /Firefox|FxiOS/.test(agent) ? 'Firefox'
    : /SamsungBrowser/.test(agent) ? 'Samsung Internet'
    : /Chrom|CriOS/.test(agent) ? 'Chrome'
    : /Safari/.test(agent) ? 'Safari'
    : 'A browser';
  const system = /iPhone/.test(agent) ? 'iPhone'
    : /iPad/.test(agent) ? 'iPad'
    : /Android/.test(agent) ? 'Android'
    : /CrOS/.test(agent) ? 'ChromeOS'
    : /Windows/.test(agent) ? 'Windows'
    : /Mac OS/.test(agent) ? 'Mac'
    : /Linux/.test(agent) ? 'Linux'
    : '';
  return system ? `${browser} on ${system}` : browser;
}
