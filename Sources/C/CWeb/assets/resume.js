// SPDX-License-Identifier: Apache-2.0

// Decides the starting position. If another device has a newer position, the listener decides.

/** Places closer than this are the same place. */
const near = 30;
/** A place this close to the end means that the book was heard. */
const finish = 5;

/**
 * @typedef {{seconds: number, at: Date|null}} Place
 * @typedef {Place & {deviceId: string|null, deviceName: string|null}} DevicePlace
 * @typedef {{kind: 'here'|'there'|'before'|'beginning', seconds: number, at: Date|null, device?: string|null}} Choice
 * @typedef {{start: number, finished: boolean, choices: Choice[]}} Decision no choices: nothing to ask
 */

/**
 * @param {object} known
 * @param {Place|null} known.here this browser's device id last position
 * @param {DevicePlace|null} known.latest the last position on the server
 * @param {Place|null} known.before the last position of an earlier order of the same title
 * @param {string} known.deviceId this browser's
 * @param {number} known.duration
 * @returns {Decision}
 */
export function decide({ here, latest, before, deviceId, duration }) {
  if (!here && !latest) {
    if (!before || before.seconds < near || before.seconds > duration - near) return { start: 0, finished: false, choices: [] };
    const choices = [{ kind: 'before', ...before }, { kind: 'beginning', seconds: 0, at: null }];
    return { start: before.seconds, finished: false, choices: /** @type {Choice[]} */ (choices) };
  }
  // What was heard here after that needs no question, even while the server does not have it yet.
  const newer = !latest || (here && (here.at ?? 0) > (latest.at ?? 0)) ? /** @type {Place} */ (here) : latest;
  if (here && latest && newer === latest && differs(here.seconds, latest, deviceId)) {
    return {
      start: here.seconds,
      finished: false,
      choices: [
        { kind: 'there', seconds: latest.seconds, at: latest.at, device: latest.deviceName },
        { kind: 'here', seconds: here.seconds, at: here.at },
      ],
    };
  }
  const finished = newer.seconds >= duration - finish;
  return { start: finished ? 0 : newer.seconds, finished, choices: [] };
}

/**
 * Whether `latest` is another device's and somewhere else.
 * @param {number} seconds
 * @param {DevicePlace} latest
 * @param {string} deviceId
 */
export function differs(seconds, latest, deviceId) {
  return latest.deviceId !== deviceId && Math.abs(latest.seconds - seconds) > near;
}

/**
 * The answer of `GET /v2/states/latest/{order}`.
 * @param {any} answer
 * @returns {DevicePlace|null}
 */
export function readLatest(answer) {
  if (!answer || !Number.isFinite(answer.Position)) return null;
  const exact = Number.isFinite(answer.PositionMs) ? answer.PositionMs / 1000 : answer.Position;
  return {
    seconds: exact,
    at: new Date(answer.LastUpdated),
    deviceId: answer.DeviceId ?? null,
    deviceName: answer.DeviceName ?? null,
  };
}

/**
 * A remembered or listed place: `{seconds, at}` or `{seconds, lastUpdated}`.
 * @param {any} value
 * @returns {Place|null}
 */
export function readPlace(value) {
  if (!value || !Number.isFinite(value.seconds)) return null;
  const at = value.at ?? value.lastUpdated;
  return { seconds: value.seconds, at: at ? new Date(at) : null };
}
