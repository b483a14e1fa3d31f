// SPDX-License-Identifier: Apache-2.0

// Requests to our own server: same origin, cookie session, JSON or bytes. Every failure is a RequestError that says what kind it is.

/**
 * @typedef {'network'|'signed-out'|'refused'|'missing'|'damaged'|'busy'|'other'} FailureKind
 *   network: no answer. signed-out: 401. refused: 403 with a reason. missing: 404 or 410. damaged: 500, the server's files
 *   are not whole. busy: 429 or other 5xx, worth another try.
 */

export class RequestError extends Error {
  /**
   * @param {FailureKind} kind
   * @param {string} message
   * @param {{status?: number, problem?: Record<string, any>, retryAfter?: number|null}} [details]
   */
  constructor(kind, message, { status = 0, problem = {}, retryAfter = null } = {}) {
    super(message);
    this.name = 'RequestError';
    this.kind = kind;
    this.status = status;
    this.problem = problem;
    /** Seconds to wait before another try, when the server said so. */
    this.retryAfter = retryAfter;
  }

  /** Why the server refused: expired, revoked, returned, not-started, concurrency. */
  get reason() {
    return typeof this.problem.reason === 'string' ? this.problem.reason : null;
  }

  /** Whether the same request may succeed later without anyone doing anything. */
  get passes() {
    return this.kind === 'network' || this.kind === 'busy';
  }
}

/** A request without an answer after this long has failed. */
const patience = 30_000;

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<Response>}
 */
async function request(path, init = {}) {
  const stop = new AbortController();
  const outer = init.signal;
  const abort = () => stop.abort(outer?.reason);
  if (outer?.aborted) abort();
  outer?.addEventListener('abort', abort);
  const timer = setTimeout(() => stop.abort(new RequestError('network', 'no answer')), patience);
  try {
    const response = await fetch(path, { ...init, credentials: 'same-origin', signal: stop.signal });
    if (response.ok) return await held(response);
    throw await failure(response);
  } catch (error) {
    if (error instanceof RequestError || outer?.aborted) throw error;
    throw new RequestError('network', 'the server does not respond');
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}

/**
 * The response with its whole body read, so that a body that stalls counts as no answer.
 * @param {Response} response
 */
async function held(response) {
  const body = response.status === 204 ? null : await response.arrayBuffer();
  return new Response(body, { status: response.status, headers: response.headers });
}

/** @param {Response} response */
async function failure(response) {
  const { status } = response;
  let problem = {};
  try {
    if (/json/.test(response.headers.get('Content-Type') ?? '')) problem = await response.json();
  } catch {
    // An invalid body adds nothing.
  }
  const after = Number(response.headers.get('Retry-After') ?? problem.retryAfter ?? NaN);
  const kind = status === 401 ? 'signed-out'
    : status === 403 ? 'refused'
    : status === 404 || status === 410 ? 'missing'
    : problem.code === 'store.damaged' ? 'damaged'
    : status === 429 || status >= 500 ? 'busy'
    : 'other';
  const message = problem.detail ?? problem.title ?? `the server responded with status ${status}`;
  return new RequestError(kind, message, { status, problem, retryAfter: Number.isFinite(after) ? after : null });
}

/**
 * @param {string} path
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function getJSON(path, { signal } = {}) {
  const response = await request(path, { signal, headers: { Accept: 'application/json' } });
  return response.json();
}

/**
 * @param {string} path
 * @param {{signal?: AbortSignal}} [options]
 */
export async function getText(path, { signal } = {}) {
  return (await request(path, { signal })).text();
}

/**
 * @param {string} path
 * @param {{signal?: AbortSignal}} [options]
 */
export async function getBytes(path, { signal } = {}) {
  return new Uint8Array(await (await request(path, { signal })).arrayBuffer());
}

/**
 * @param {'POST'|'PUT'|'DELETE'} method
 * @param {string} path
 * @param {unknown} [body] sent as JSON
 * @param {{keepalive?: boolean}} [options] keepalive: the request outlives the page
 * @returns {Promise<any>} the answer's JSON, or null when it has none
 */
export async function send(method, path, body, { keepalive = false } = {}) {
  const init = { method, keepalive, headers: { Accept: 'application/json' } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers['Content-Type'] = 'application/json';
  }
  const response = await request(path, init);
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}
