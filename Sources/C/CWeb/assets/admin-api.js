// Requests to the administrators' API. Whatever changes something says that this page asked for it.

export class Refusal extends Error {
  /** @param {number} status @param {Record<string, any>} problem */
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `the server answered ${status}`);
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
 * @returns {Promise<any>} the answer's JSON, or null when it has none
 */
export async function call(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = { Accept: 'application/json' };
  if (method !== 'GET') headers['X-Carrel-Admin'] = 'page';
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(`/admin/v1/${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: AbortSignal.timeout(patience),
    });
  } catch {
    throw new Refusal(0, { detail: 'the server does not answer' });
  }
  const text = await response.text();
  /** @type {any} */
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    value = {};
  }
  if (response.ok) return value;
  const refusal = new Refusal(response.status, value ?? {});
  if (refusal.code === 'request.unauthenticated') over();
  throw refusal;
}

/** @param {Record<string, string|number|null|undefined>} parameters those that are empty are left out */
export function query(parameters) {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== '') made.set(name, String(value));
  }
  const text = made.toString();
  return text ? `?${text}` : '';
}
