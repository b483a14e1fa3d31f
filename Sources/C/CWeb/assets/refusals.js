// SPDX-License-Identifier: Apache-2.0

// Messages for refused listeners: the reason and the remedy.

import { RequestError } from './api.js';
import { until, when } from './format.js';
import { lacksOutput, noOutput } from './sound-output.js';

/**
 * @typedef {object} Notice
 * @property {string} heading
 * @property {string} text
 * @property {string} icon
 * @property {boolean} [retry] whether trying again may help
 * @property {Date|null} [retryAt] when trying again will help
 */

/** @param {unknown} value @returns {Date|null} */
function date(value) {
  const parsed = typeof value === 'string' ? new Date(value) : null;
  return parsed && !Number.isNaN(parsed.getTime()) ? parsed : null;
}

/**
 * The notice for an order that cannot be played, null when it can.
 * @param {{state: string, kind: string, startsAt: string|null, endsAt: string|null}} item
 * @param {Date} [now]
 * @returns {Notice|null}
 */
export function noticeForItem(item, now = new Date()) {
  const starts = date(item.startsAt);
  const ends = date(item.endsAt);
  if (['expired', 'revoked', 'returned', 'cancelled'].includes(item.state)) return noticeFor(item.state, item, {}, null);
  if (ends && ends <= now) return noticeFor('expired', item, {}, null);
  if (starts && starts > now) return noticeFor('not-started', item, {}, null);
  return null;
}

/**
 * The notice for a failure while playing.
 * @param {unknown} error
 * @param {{kind: string, startsAt: string|null, endsAt: string|null}|null} item
 * @returns {Notice}
 */
export function noticeForError(error, item) {
  if (!(error instanceof RequestError)) {
    if (lacksOutput(error)) return { icon: 'alert', ...noOutput, retry: true };
    if (/** @type {any} */ (error)?.cause === 'no-way') {
      return { icon: 'alert', heading: 'This browser cannot play it', text: 'Open this page in a current Chrome, Edge, Firefox or Safari.' };
    }
    return {
      icon: 'alert',
      heading: 'This browser cannot play it',
      text: 'The audio arrived but could not be played. Try again, or open this page in a current Chrome, Edge, Firefox or Safari.',
      retry: true,
    };
  }
  if (error.kind === 'refused' && error.reason) return noticeFor(error.reason, item, error.problem, error.retryAfter);
  if (error.kind === 'signed-out') {
    return {
      icon: 'lock',
      heading: 'You are signed out',
      text: 'Open the sign-in link from your library or shop again, and this page continues where you are.',
      retry: true,
    };
  }
  if (error.kind === 'missing' && !item) {
    return { icon: 'alert', heading: 'Not on your shelf', text: 'There is no such title on your shelf. It may belong to another account.' };
  }
  if (error.kind === 'damaged') {
    return {
      icon: 'alert',
      heading: 'The recording is damaged',
      text: 'Its files on the server are damaged and must be repaired before you can listen. Tell your library or shop; your place is kept.',
      retry: true,
    };
  }
  return {
    icon: 'alert',
    heading: 'The server has a problem',
    text: 'Your place is kept. Try again in a moment.',
    retry: true,
  };
}

/**
 * @param {string} reason
 * @param {{kind: string, startsAt: string|null, endsAt: string|null}|null} item
 * @param {Record<string, any>} problem
 * @param {number|null} retryAfter seconds
 * @returns {Notice}
 */
function noticeFor(reason, item, problem, retryAfter) {
  const loan = item?.kind !== 'sale';
  switch (reason) {
    case 'expired': {
      const ended = date(problem.endedAt ?? problem.endsAt ?? item?.endsAt);
      const what = loan ? 'Your loan' : 'Your access';
      return {
        icon: 'clock',
        heading: loan ? 'This loan has ended' : 'This order has ended',
        text: `${what} ended${ended ? ` ${when(ended)}` : ''}. Your place is kept: ${loan ? 'borrow' : 'order'} the title again and you can continue where you stopped.`,
      };
    }
    case 'returned':
      return { icon: 'check', heading: 'You have returned this title', text: 'Your place is kept: borrow the title again and you can continue where you stopped.' };
    case 'revoked':
      return { icon: 'lock', heading: 'This order was withdrawn', text: 'Your library or shop has withdrawn this title. Ask them why; your place is kept.' };
    case 'suspended':
      return { icon: 'lock', heading: 'This account is suspended', text: 'You cannot play anything for now. Ask your library or shop; your place is kept.', retry: true };
    case 'cancelled':
      return { icon: 'lock', heading: 'This order was cancelled', text: 'It was cancelled before it was first played. If you did not want that, ask your library or shop.' };
    case 'not-started': {
      const starts = date(problem.startsAt ?? item?.startsAt);
      return {
        icon: 'clock',
        heading: loan ? 'This loan has not begun yet' : 'Not available yet',
        text: starts ? `You can listen from ${when(starts)}, ${until(starts)}.` : 'You can listen once it has begun.',
        retry: true,
        retryAt: starts,
      };
    }
    case 'concurrency': {
      const limit = Number(problem.limit ?? 0);
      const devices = limit > 1 ? `${limit} other devices` : 'another device';
      const minutes = Math.max(1, Math.ceil((retryAfter ?? 120) / 60));
      return {
        icon: 'devices',
        heading: `Already playing on ${devices}`,
        text: `${limit > 0 ? `You can listen on ${limit} device${limit === 1 ? '' : 's'} at a time. ` : ''}Stop there, then try again here in about ${minutes} minute${minutes === 1 ? '' : 's'}.`,
        retry: true,
      };
    }
    default:
      return { icon: 'lock', heading: 'This title cannot be played', text: `The server refused it (${reason}). Ask your library or shop.`, retry: true };
  }
}
