// SPDX-License-Identifier: Apache-2.0

// What this browser remembers between visits. Storage may be forbidden or full: then the page works without.

const prefix = 'carrel.';

/** @param {string} key @returns {any} the remembered value, or null */
export function recall(key) {
  try {
    const text = localStorage.getItem(prefix + key);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {string} key @param {unknown} value JSON; null forgets */
export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(prefix + key);
    else localStorage.setItem(prefix + key, JSON.stringify(value));
  } catch {
    // Full or forbidden.
  }
}

/** The remembered keys that start with `start`. @param {string} start @returns {string[]} */
export function remembered(start) {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix + start)).map((key) => key.slice(prefix.length));
  } catch {
    return [];
  }
}

/** Leaves nothing about the reader in this browser. */
export function forgetReader() {
  for (const kind of ['place.', 'outbox.', 'speed.', 'bookmarks.']) {
    for (const key of remembered(kind)) remember(key, null);
  }
}

/** Random hexadecimal digits; works outside secure contexts, where `randomUUID` does not. @param {number} bytes */
export function randomHex(bytes) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
