// SPDX-License-Identifier: Apache-2.0

// Decrypts segments with WebCrypto if the page has it, with our own AES otherwise.

import { decryptCBC, expandKey } from './aes.js';

/**
 * @typedef {(iv: Uint8Array, data: Uint8Array) => Promise<Uint8Array>} Decryptor
 *   throws when the key or the data is wrong
 */

/**
 * @param {Uint8Array} key 16 bytes; wiped before this returns
 * @param {SubtleCrypto|undefined} [subtle] undefined outside a secure context
 * @returns {Promise<Decryptor>}
 */
export async function decryptorFor(key, subtle = globalThis.crypto?.subtle) {
  try {
    if (key.length !== 16) throw new RangeError(`the key has ${key.length} bytes instead of 16`);
    if (subtle) {
      const handle = await subtle.importKey('raw', key, 'AES-CBC', false, ['decrypt']);
      return async (iv, data) => new Uint8Array(await subtle.decrypt({ name: 'AES-CBC', iv }, handle, data));
    }
    const schedule = expandKey(key);
    return async (iv, data) => decryptCBC(schedule, iv, data);
  } finally {
    key.fill(0);
  }
}
