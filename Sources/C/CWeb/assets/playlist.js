// SPDX-License-Identifier: Apache-2.0

// Reads our media playlist (RFC 8216): durations, segment addresses and the key of each segment.

/**
 * @typedef {{method: 'NONE'|'AES-128', uri: string|null, iv: Uint8Array|null}} Key
 * @typedef {object} Playlist
 * @property {string} base address that the others are relative to
 * @property {number} count segments
 * @property {Float64Array} starts second at which each segment starts; one more entry than segments, the last is the end
 * @property {string[]} uris as written in the playlist
 * @property {Key[]} keys distinct EXT-X-KEY tags in order
 * @property {Int32Array} keyOf index into `keys` of each segment, −1 when clear
 * @property {number} mediaSequence number of the first segment
 */

/**
 * @param {string} text
 * @param {string} base address of the playlist
 * @returns {Playlist}
 * @throws {SyntaxError} when it is not a playlist this page can play
 */
export function parsePlaylist(text, base) {
  if (!text.startsWith('#EXTM3U')) throw new SyntaxError('the playlist does not start with #EXTM3U');
  const uris = [];
  const ends = [];
  const keyOf = [];
  const keys = [];
  let mediaSequence = 0;
  let key = -1;
  let duration = NaN;
  // Durations have six decimals: whole microseconds add up without drift over thousands of segments.
  let end = 0;
  let from = 0;
  while (from < text.length) {
    let to = text.indexOf('\n', from);
    if (to < 0) to = text.length;
    const line = text.charCodeAt(to - 1) === 13 ? text.slice(from, to - 1) : text.slice(from, to);
    from = to + 1;
    if (line === '') continue;
    if (line.charCodeAt(0) !== 35) {
      if (!(duration >= 0)) throw new SyntaxError('a segment has no duration');
      end += Math.round(duration * 1e6);
      duration = NaN;
      uris.push(line);
      ends.push(end);
      keyOf.push(key);
    } else if (line.startsWith('#EXTINF:')) {
      duration = parseFloat(line.slice(8));
    } else if (line.startsWith('#EXT-X-KEY:')) {
      const next = parseKey(line.slice(11));
      key = next.method === 'NONE' ? -1 : keys.push(next) - 1;
    } else if (line.startsWith('#EXT-X-MEDIA-SEQUENCE:')) {
      mediaSequence = parseInt(line.slice(22), 10);
    } else if (line.startsWith('#EXT-X-BYTERANGE') || line.startsWith('#EXT-X-MAP')) {
      throw new SyntaxError('the playlist has segments this page cannot read');
    }
  }
  if (uris.length === 0) throw new SyntaxError('the playlist has no segments');
  const starts = new Float64Array(uris.length + 1);
  ends.forEach((at, n) => { starts[n + 1] = at / 1e6; });
  return { base, count: uris.length, starts, uris, keys, keyOf: Int32Array.from(keyOf), mediaSequence };
}

/** @param {string} text an attribute list @returns {Key} */
function parseKey(text) {
  const attributes = new Map();
  for (const [, name, quoted, bare] of text.matchAll(/([A-Z0-9-]+)=(?:"([^"]*)"|([^,]*))/g)) {
    attributes.set(name, quoted ?? bare);
  }
  const method = attributes.get('METHOD');
  const format = attributes.get('KEYFORMAT') ?? 'identity';
  if (method === 'NONE') return { method, uri: null, iv: null };
  if (method !== 'AES-128' || format !== 'identity' || !attributes.has('URI')) {
    throw new SyntaxError(`the playlist is protected with ${method}, which this page does not have`);
  }
  return { method, uri: attributes.get('URI'), iv: parseIV(attributes.get('IV')) };
}

/** @param {string|undefined} hex */
function parseIV(hex) {
  if (hex === undefined) return null;
  const digits = hex.replace(/^0x/i, '').padStart(32, '0');
  return Uint8Array.from({ length: 16 }, (_, i) => parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

/**
 * The IV of segment `n`: the key's own, else the media sequence number (RFC 8216 §5.2).
 * @param {Playlist} playlist
 * @param {number} n
 */
export function segmentIV(playlist, n) {
  const explicit = playlist.keys[playlist.keyOf[n]]?.iv;
  if (explicit) return explicit;
  const iv = new Uint8Array(16);
  new DataView(iv.buffer).setBigUint64(8, BigInt(playlist.mediaSequence + n));
  return iv;
}

/**
 * The segment that plays at `time`, found by bisection; the first or last one if `time` is outside.
 * @param {Playlist} playlist
 * @param {number} time seconds of the stream
 */
export function segmentAt(playlist, time) {
  let low = 0;
  let high = playlist.count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (playlist.starts[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}
