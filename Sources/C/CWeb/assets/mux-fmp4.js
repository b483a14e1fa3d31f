// SPDX-License-Identifier: Apache-2.0

// Wraps the frames of packed segments into fragmented MP4 (ISO/IEC 14496-12), for browsers whose Media Source Extensions
// take no packed audio. One initialization segment per format, one fragment per segment.

import { findFrames } from './frames.js';

/** @typedef {import('./frames.js').AudioFormat} AudioFormat */

/**
 * @param {string} type four characters
 * @param {...(number[]|Uint8Array)} parts the content
 */
function box(type, ...parts) {
  const size = parts.reduce((sum, part) => sum + part.length, 8);
  const out = new Uint8Array(size);
  out.set(u32(size));
  for (let i = 0; i < 4; i++) out[4 + i] = type.charCodeAt(i);
  let at = 8;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** @param {number} value */
const u16 = (value) => [value >>> 8 & 255, value & 255];
/** @param {number} value */
const u32 = (value) => [value >>> 24 & 255, value >>> 16 & 255, value >>> 8 & 255, value & 255];
/** @param {number} value up to 2⁵³ */
const u64 = (value) => [...u32(Math.floor(value / 2 ** 32)), ...u32(value >>> 0)];
/** @param {number} count */
const zeros = (count) => new Array(count).fill(0);

const matrix = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].flatMap(u32);

/** An MPEG-4 descriptor with a one-byte length (ISO/IEC 14496-1 §8.3.3). @param {number} tag @param {number[]} content */
const descriptor = (tag, content) => [tag, content.length, ...content];

/** @param {AudioFormat} format */
function sampleEntry(format) {
  const specific = format.config ? descriptor(5, [...format.config]) : [];
  const decoder = descriptor(4, [format.objectType, 0x15, ...zeros(3), ...u32(0), ...u32(0), ...specific]);
  const stream = descriptor(3, [...u16(1), 0, ...decoder, ...descriptor(6, [2])]);
  return box('mp4a', zeros(6), u16(1), zeros(8), u16(format.channels), u16(16), zeros(4), u32(format.rate * 0x10000),
    box('esds', zeros(4), stream));
}

/**
 * @param {AudioFormat} format
 * @returns {Uint8Array}
 */
export function initializationSegment(format) {
  const samples = box('stbl',
    box('stsd', zeros(4), u32(1), sampleEntry(format)),
    box('stts', zeros(8)), box('stsc', zeros(8)), box('stsz', zeros(12)), box('stco', zeros(8)));
  const media = box('mdia',
    box('mdhd', zeros(12), u32(format.rate), zeros(4), u16(0x55c4), zeros(2)),
    box('hdlr', zeros(8), [...'soun'].map((c) => c.charCodeAt(0)), zeros(12), [0]),
    box('minf',
      box('smhd', zeros(8)),
      box('dinf', box('dref', zeros(4), u32(1), box('url ', [0, 0, 0, 1]))),
      samples));
  const track = box('trak',
    box('tkhd', [0, 0, 0, 7], zeros(8), u32(1), zeros(4), zeros(4), zeros(8), zeros(4), u16(0x0100), zeros(2), matrix, zeros(8)),
    media);
  const movie = box('moov',
    box('mvhd', zeros(12), u32(format.rate), zeros(4), u32(0x10000), u16(0x0100), zeros(10), matrix, zeros(24), u32(2)),
    track,
    box('mvex', box('trex', zeros(4), u32(1), u32(1), u32(format.samplesPerFrame), zeros(4), u32(0x02000000))));
  const brands = [...'isom', ...'iso6', ...'mp41'].map((c) => c.charCodeAt(0));
  return concat([box('ftyp', brands.slice(4, 8), u32(1), brands), movie]);
}

/**
 * @param {Uint8Array} data a packed segment
 * @param {number} start seconds at which it starts
 * @param {number} sequence number of the fragment
 * @returns {{format: AudioFormat, fragment: Uint8Array}}
 * @throws {RangeError} when the segment is not whole frames
 */
export function wrapSegment(data, start, sequence) {
  const { format, offsets, sizes } = findFrames(data);
  // Segments start at a frame of the stream: the nearest frame undoes the rounding of the playlist's microseconds.
  const decodeTime = Math.round(start * format.rate / format.samplesPerFrame) * format.samplesPerFrame;
  const fragmentSize = 8 + 16 + 8 + 16 + 20 + 20 + 4 * sizes.length;
  const header = box('moof',
    box('mfhd', zeros(4), u32(sequence)),
    box('traf',
      box('tfhd', [0, 2, 0, 0], u32(1)),
      box('tfdt', [1, 0, 0, 0], u64(decodeTime)),
      box('trun', [0, 0, 2, 1], u32(sizes.length), u32(fragmentSize + 8), sizes.flatMap(u32))));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const fragment = new Uint8Array(header.length + 8 + total);
  fragment.set(header);
  fragment.set(u32(8 + total), header.length);
  for (let i = 0; i < 4; i++) fragment[header.length + 4 + i] = 'mdat'.charCodeAt(i);
  let at = header.length + 8;
  for (let i = 0; i < sizes.length; i++) {
    fragment.set(data.subarray(offsets[i], offsets[i] + sizes[i]), at);
    at += sizes[i];
  }
  return { format, fragment };
}

/** @param {Uint8Array[]} parts */
function concat(parts) {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
