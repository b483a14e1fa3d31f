// SPDX-License-Identifier: Apache-2.0

// AES-128-CBC decryption with PKCS#7 padding (FIPS 197, SP 800-38A, RFC 5652 §6.3), for pages that are not a secure context:
// browsers keep WebCrypto from plain-HTTP addresses. A page on such an address can hide nothing from its own machine, so
// table look-ups are good enough here.

const sbox = new Uint8Array(256);
const inverse = new Uint8Array(256);
/** InvMixColumns of each byte after InvSubBytes, one table per row. */
const tables = [0, 1, 2, 3].map(() => new Uint32Array(256));

/** @param {number} a */
const double = (a) => ((a << 1) ^ (a & 128 ? 0x11b : 0)) & 255;

/** Multiplies by 14, 9, 13 and 11 in GF(2⁸): one column of InvMixColumns. @param {number} s */
function column(s) {
  const s2 = double(s);
  const s4 = double(s2);
  const s8 = double(s4);
  return ((s8 ^ s4 ^ s2) << 24 | (s8 ^ s) << 16 | (s8 ^ s4 ^ s) << 8 | (s8 ^ s2 ^ s)) >>> 0;
}

for (let p = 1, q = 1, first = true; first || p !== 1; first = false) {
  p ^= double(p); // p runs through all powers of 3,
  q ^= q << 1; // q through their inverses
  q ^= q << 2;
  q ^= q << 4;
  q &= 255;
  if (q & 128) q ^= 9;
  const rotated = q | q << 8;
  sbox[p] = (rotated ^ rotated >> 4 ^ rotated >> 5 ^ rotated >> 6 ^ rotated >> 7 ^ 0x63) & 255;
}
sbox[0] = 0x63;
for (let i = 0; i < 256; i++) inverse[sbox[i]] = i;
for (let i = 0; i < 256; i++) {
  const word = column(inverse[i]);
  for (let row = 0; row < 4; row++) tables[row][i] = row ? word >>> 8 * row | word << 32 - 8 * row : word;
}

/**
 * The round keys of the equivalent inverse cipher (FIPS 197 §5.3.5), last round first.
 * @param {Uint8Array} key 16 bytes
 */
export function expandKey(key) {
  if (key.length !== 16) throw new RangeError('an AES-128 key has 16 bytes');
  const view = new DataView(key.buffer, key.byteOffset, 16);
  const words = new Uint32Array(44);
  for (let i = 0; i < 4; i++) words[i] = view.getUint32(4 * i);
  for (let i = 4, round = 1; i < 44; i++) {
    let word = words[i - 1];
    if (i % 4 === 0) {
      word = (sbox[word >>> 16 & 255] ^ round) << 24 | sbox[word >>> 8 & 255] << 16 | sbox[word & 255] << 8 | sbox[word >>> 24];
      round = double(round);
    }
    words[i] = words[i - 4] ^ word;
  }
  const schedule = new Uint32Array(44);
  for (let round = 0; round <= 10; round++) {
    for (let i = 0; i < 4; i++) {
      const w = words[4 * (10 - round) + i];
      schedule[4 * round + i] = round === 0 || round === 10 ? w
        : tables[0][sbox[w >>> 24]] ^ tables[1][sbox[w >>> 16 & 255]] ^ tables[2][sbox[w >>> 8 & 255]] ^ tables[3][sbox[w & 255]];
    }
  }
  return schedule;
}

/**
 * @param {Uint32Array} schedule from `expandKey`
 * @param {Uint8Array} iv 16 bytes
 * @param {Uint8Array} data whole blocks
 * @returns {Uint8Array} without the padding
 * @throws {RangeError} when the length or the padding is wrong
 */
export function decryptCBC(schedule, iv, data) {
  const { length } = data;
  if (length === 0 || length % 16 !== 0) throw new RangeError('the cipher text is not whole blocks');
  const [t0, t1, t2, t3] = tables;
  const input = new DataView(data.buffer, data.byteOffset, length);
  const out = new Uint8Array(length);
  const output = new DataView(out.buffer);
  const vector = new DataView(iv.buffer, iv.byteOffset, 16);
  let p0 = vector.getUint32(0), p1 = vector.getUint32(4), p2 = vector.getUint32(8), p3 = vector.getUint32(12);
  for (let at = 0; at < length; at += 16) {
    const c0 = input.getUint32(at), c1 = input.getUint32(at + 4), c2 = input.getUint32(at + 8), c3 = input.getUint32(at + 12);
    let a = c0 ^ schedule[0], b = c1 ^ schedule[1], c = c2 ^ schedule[2], d = c3 ^ schedule[3];
    for (let k = 4; k < 40; k += 4) {
      const e = t0[a >>> 24] ^ t1[d >>> 16 & 255] ^ t2[c >>> 8 & 255] ^ t3[b & 255] ^ schedule[k];
      const f = t0[b >>> 24] ^ t1[a >>> 16 & 255] ^ t2[d >>> 8 & 255] ^ t3[c & 255] ^ schedule[k + 1];
      const g = t0[c >>> 24] ^ t1[b >>> 16 & 255] ^ t2[a >>> 8 & 255] ^ t3[d & 255] ^ schedule[k + 2];
      d = t0[d >>> 24] ^ t1[c >>> 16 & 255] ^ t2[b >>> 8 & 255] ^ t3[a & 255] ^ schedule[k + 3];
      a = e;
      b = f;
      c = g;
    }
    output.setUint32(at, last(a, d, c, b) ^ schedule[40] ^ p0);
    output.setUint32(at + 4, last(b, a, d, c) ^ schedule[41] ^ p1);
    output.setUint32(at + 8, last(c, b, a, d) ^ schedule[42] ^ p2);
    output.setUint32(at + 12, last(d, c, b, a) ^ schedule[43] ^ p3);
    p0 = c0;
    p1 = c1;
    p2 = c2;
    p3 = c3;
  }
  const padding = out[length - 1];
  let wrong = padding < 1 || padding > 16 ? 1 : 0;
  for (let i = 1; i <= padding && i <= 16; i++) wrong |= out[length - i] ^ padding;
  if (wrong) throw new RangeError('the padding is wrong: another key or a damaged segment');
  return out.subarray(0, length - padding);
}

/** The last round: InvSubBytes of one byte of each word, in InvShiftRows order. */
function last(a, b, c, d) {
  return inverse[a >>> 24] << 24 | inverse[b >>> 16 & 255] << 16 | inverse[c >>> 8 & 255] << 8 | inverse[d & 255];
}
