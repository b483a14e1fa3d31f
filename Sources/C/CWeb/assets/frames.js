// SPDX-License-Identifier: Apache-2.0

// Finds the frames of a packed segment: an ID3 tag, then ADTS AAC or MP3 frames back to back (RFC 8216 §3.4).

/**
 * @typedef {object} AudioFormat
 * @property {'aac'|'mp3'} codec
 * @property {number} rate samples per second; for HE-AAC the core's
 * @property {number} channels
 * @property {number} samplesPerFrame
 * @property {number} objectType MPEG-4 object type indication of the sample description (ISO/IEC 14496-1 table 5)
 * @property {Uint8Array|null} config AudioSpecificConfig, AAC only
 */

/**
 * @typedef {object} Frames
 * @property {AudioFormat} format
 * @property {number[]} offsets of each frame's payload
 * @property {number[]} sizes of each frame's payload
 */

const adtsRates = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];
const mp3Rates = [44100, 48000, 32000];
const kilobitsMPEG1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const kilobitsMPEG2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

/**
 * @param {Uint8Array} data
 * @returns {Frames}
 * @throws {RangeError} if there is no frame, or invalid data
 */
export function findFrames(data) {
  let at = id3Length(data);
  if (at + 4 > data.length || data[at] !== 0xff) throw new RangeError('the segment has no audio frame');
  const read = (data[at + 1] & 0xf6) === 0xf0 ? readADTS : readMP3;
  const format = read(data, at).format();
  const offsets = [];
  const sizes = [];
  while (at < data.length) {
    const { header, size } = read(data, at);
    if (at + size > data.length) throw new RangeError('the last frame of the segment is cut off');
    offsets.push(at + header);
    sizes.push(size - header);
    at += size;
  }
  return { format, offsets, sizes };
}

/** @param {Uint8Array} data */
function id3Length(data) {
  if (data.length < 10 || data[0] !== 0x49 || data[1] !== 0x44 || data[2] !== 0x33) return 0;
  return 10 + (data[6] << 21 | data[7] << 14 | data[8] << 7 | data[9]);
}

/** ISO/IEC 14496-3 §1.A.2.2. @param {Uint8Array} data @param {number} at */
function readADTS(data, at) {
  if (at + 7 > data.length || data[at] !== 0xff || (data[at + 1] & 0xf6) !== 0xf0) throw new RangeError('not an ADTS frame');
  const header = data[at + 1] & 1 ? 7 : 9;
  const size = (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5;
  if (size < header) throw new RangeError('an ADTS frame is shorter than its header');
  return {
    header,
    size,
    /** @returns {AudioFormat} */
    format() {
      const objectType = (data[at + 2] >> 6) + 1;
      const rateIndex = data[at + 2] >> 2 & 15;
      const channels = (data[at + 2] & 1) << 2 | data[at + 3] >> 6;
      if (!adtsRates[rateIndex]) throw new RangeError('an ADTS frame names a reserved rate');
      const config = Uint8Array.of(objectType << 3 | rateIndex >> 1, (rateIndex & 1) << 7 | channels << 3);
      return { codec: 'aac', rate: adtsRates[rateIndex], channels: channels === 7 ? 8 : channels, samplesPerFrame: 1024, objectType: 0x40, config };
    },
  };
}

/** ISO/IEC 11172-3 §2.4.1.3, Layer III only. @param {Uint8Array} data @param {number} at */
function readMP3(data, at) {
  if (at + 4 > data.length || data[at] !== 0xff || (data[at + 1] & 0xe6) !== 0xe2) throw new RangeError('not an MP3 frame');
  const version = data[at + 1] >> 3 & 3; // 3: MPEG-1, 2: MPEG-2, 0: MPEG-2.5
  const kilobits = (version === 3 ? kilobitsMPEG1 : kilobitsMPEG2)[data[at + 2] >> 4];
  const base = mp3Rates[data[at + 2] >> 2 & 3];
  if (version === 1 || !kilobits || !base) throw new RangeError('an MP3 frame names a reserved rate');
  const rate = version === 3 ? base : version === 2 ? base / 2 : base / 4;
  const samplesPerFrame = version === 3 ? 1152 : 576;
  return {
    header: 0, // MP4 keeps the header of an MP3 frame
    size: Math.floor(samplesPerFrame / 8 * kilobits * 1000 / rate) + (data[at + 2] >> 1 & 1),
    /** @returns {AudioFormat} */
    format() {
      const channels = data[at + 3] >> 6 === 3 ? 1 : 2;
      return { codec: 'mp3', rate, channels, samplesPerFrame, objectType: version === 3 ? 0x6b : 0x69, config: null };
    },
  };
}
