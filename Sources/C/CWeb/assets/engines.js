// SPDX-License-Identifier: Apache-2.0

// Chooses how this browser plays the stream: packed audio unchanged (Chromium), wrapped into fMP4 (Firefox), or the browser's own
// HLS (iPhone). A browser's claim is trusted until its first append fails; then the next engine is tried.

import { MSEEngine } from './mse-engine.js';
import { NativeEngine, playsHLS } from './native-engine.js';

/** @type {Record<'mp3'|'aac', import('./mse-engine.js').Form[]>} */
const forms = {
  mp3: [
    { mime: 'audio/mpeg', wrap: false },
    { mime: 'audio/mp4; codecs="mp3"', wrap: true },
    { mime: 'audio/mp4; codecs="mp4a.6B"', wrap: true },
  ],
  aac: [
    { mime: 'audio/aac', wrap: false },
    { mime: 'audio/mp4; codecs="mp4a.40.2"', wrap: true },
  ],
};

/**
 * @typedef {MSEEngine|NativeEngine} Engine
 * @typedef {(time: number) => Engine} EngineMaker
 */

/** Whether this browser has Media Source Extensions of either kind. */
export const hasMediaSource = Boolean(globalThis.MediaSource ?? globalThis.ManagedMediaSource);

/**
 * Ways to play, best first.
 * @param {HTMLAudioElement} audio
 * @param {import('./segments.js').SegmentSource} source with its playlist open when the browser has Media Source Extensions
 * @param {string} nativePlaylist
 * @param {string} codec RFC 6381 name: mp4a.40.34 is MP3, the others AAC
 * @returns {EngineMaker[]}
 */
export function waysToPlay(audio, source, nativePlaylist, codec) {
  const Media = globalThis.MediaSource ?? globalThis.ManagedMediaSource;
  const makers = !Media || !source.playlist ? []
    : forms[codec === 'mp4a.40.34' ? 'mp3' : 'aac']
      .filter((form) => Media.isTypeSupported(form.mime))
      .map((form) => (time) => new MSEEngine(audio, source, form, time));
  const native = playsHLS(audio) ? [(time) => new NativeEngine(audio, nativePlaylist, time)] : [];
  // Where only ManagedMediaSource exists (iPhone), the system's player also plays with the screen locked: it goes first.
  return globalThis.MediaSource ? [...makers, ...native] : [...native, ...makers];
}
