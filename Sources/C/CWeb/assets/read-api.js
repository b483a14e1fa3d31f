// SPDX-License-Identifier: Apache-2.0

// The page's requests to its server. The page's own address contains the token.

/** @param {string} path below the page @param {RequestInit} [options] */
export async function send(path, options = {}) {
  const response = await fetch(path, { credentials: 'omit', referrerPolicy: 'no-referrer', ...options });
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Error(problem.detail ?? `the reader's server responded with status ${response.status}`);
  }
  return response;
}

/** Like {@link send}, for JSON responses. @param {string} path @param {RequestInit} [options] */
export async function ask(path, options = {}) {
  const response = await send(path, options);
  return response.status === 204 ? null : response.json();
}

/** @param {string} path @param {'PUT'|'POST'|'DELETE'} method @param {unknown} [value] @param {boolean} [isLast] the page is about to go */
export function tell(path, method, value, isLast = false) {
  return ask(path, {
    method,
    keepalive: isLast,
    headers: { 'Content-Type': 'application/json' },
    body: value === undefined ? '{}' : JSON.stringify(value),
  });
}
