// SPDX-License-Identifier: Apache-2.0

// Builds and finds elements. Text is always set as text, so nothing a title says can become markup.

/**
 * The element with this id.
 * @template {HTMLElement} T
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return /** @type {T} */ (element);
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, any>} [attributes] `class`, `text` and `on…` handlers too; null, undefined and false are left out
 * @param {...(Node|string|null|undefined)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'text') element.textContent = value;
    else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const svg = 'http://www.w3.org/2000/svg';

/** An icon of the sprite; the text or label next to it has its meaning. @param {string} name */
export function icon(name) {
  const element = document.createElementNS(svg, 'svg');
  element.setAttribute('class', 'icon');
  element.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(svg, 'use');
  use.setAttribute('href', `/assets/icons.svg#${name}`);
  element.append(use);
  return element;
}

/** Changes the icon inside `element`. @param {Element} element @param {string} name */
export function setIcon(element, name) {
  element.querySelector('use')?.setAttribute('href', `/assets/icons.svg#${name}`);
}

/** Sets text only when it differs, so that nothing is announced or laid out twice. @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
