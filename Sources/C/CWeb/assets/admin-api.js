// SPDX-License-Identifier: Apache-2.0

// Requests to the administrators' API. Changing requests prove that this page sent them.

export class Refusal extends Error {
  /** @param {number} status @param {Record<string, any>} problem */
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `the server responded with status ${status}`);
    this.status = status;
    this.code = problem.code ?? '';
  }
}

/** Called when the session is over. @type {() => void} */
let over = () => {};

/** @param {() => void} handler */
export function whenOver(handler) {
  over = handler;
}

/** A request without an answer after this long has failed, in milliseconds. */
const patience = 75_000;

/**
 * @param {'GET'|'POST'|'PUT'|'PATCH'|'DELETE'} method
 * @param {string} path below `/admin/v1/`
 * @param {unknown} [body] sent as JSON
 * @param {AbortSignal} [signal] ends it
 * @returns {Promise<any>} the answer's JSON, or null when it has none
 */
export async function call(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = { Accept: 'application/json' };
  if (method !== 'GET') headers['X-Carrel-Admin'] = 'page';
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const stop = new AbortController();
  const abort = () => stop.abort();
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  const timer = setTimeout(abort, patience);
  let response, text;
  try {
    response = await fetch(`/admin/v1/${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: stop.signal,
    });
    text = await response.text();
  } catch {
    throw new Refusal(0, { detail: 'the server does not respond' });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
  return answered(response.status, text);
}

/** What an answer says. @param {number} status @param {string} text @returns {any} */
function answered(status, text) {
  /** @type {any} */
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    value = {};
  }
  if (status >= 200 && status < 300) return value;
  const refusal = new Refusal(status, value ?? {});
  if (refusal.code === 'request.unauthenticated') over();
  throw refusal;
}

/**
 * Sends a file unchanged, without a time limit.
 * @param {'POST'|'PUT'} method @param {string} path below `/admin/v1/` @param {File} file
 * @param {AbortSignal} signal cancels it
 * @param {(sent: number, total: number) => void} onprogress
 * @returns {Promise<any>} the response's JSON
 */
export function upload(method, path, file, signal, onprogress) {
  // Only this kind of request reports upload progress.
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.open(method, `/admin/v1/${path}`);
    request.setRequestHeader('Accept', 'application/json');
    request.setRequestHeader('X-Carrel-Admin', 'page');
    request.setRequestHeader('Content-Type', file.type || 'application/octet-stream');
    request.upload.addEventListener('progress', (event) => onprogress(event.loaded, event.total));
    request.upload.addEventListener('load', () => onprogress(file.size, file.size));
    request.addEventListener('load', () => {
      try {
        resolve(answered(request.status, request.responseText));
      } catch (error) {
        reject(error);
      }
    });
    request.addEventListener('error', () => reject(new Refusal(0, { detail: 'the connection to the server was lost' })));
    request.addEventListener('abort', () => reject(new Error('the upload was stopped')));
    signal.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}

/** @param {Record<string, string|number|string[]|null|undefined>} parameters those that are empty are left out; a list is one for each */
export function query(parameters) {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (Array.isArray(value)) for (const one of value) made.append(name, one);
    else if (value !== null && value !== undefined && value !== '') made.set(name, String(value));
  }
  const text = made.toString();
  return text ? `?${text}` : '';
}
