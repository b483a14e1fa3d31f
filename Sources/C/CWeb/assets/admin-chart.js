// SPDX-License-Identifier: Apache-2.0

// Bars over time, drawn as SVG, with the same numbers in a table for those who do not see them.

import { table } from './admin-parts.js';
import { make } from './dom.js';

const space = 'http://www.w3.org/2000/svg';
const width = 600;
const height = 120;
/** The number of kinds with their own color; the others share the last. */
const colours = 5;

/** @param {string} name @param {Record<string, string|number>} attributes @param {...Node} children */
function draw(name, attributes, ...children) {
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** A round number that is not less. @param {number} value */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

/**
 * @param {string} title
 * @param {{at: string, parts: Record<string, number>}[]} slots oldest first; a part is a kind and how often
 * @param {(at: string) => string} label
 * @param {boolean} [byKind] whether the kinds are worth naming, if there is only one too
 */
export function chart(title, slots, label, byKind = false) {
  const sums = slots.map((slot) => Object.values(slot.parts).reduce((sum, part) => sum + part, 0));
  const total = sums.reduce((sum, part) => sum + part, 0);
  const top = ceiling(Math.max(1, ...sums));
  /** @type {Map<string, number>} */
  const kinds = new Map();
  for (const slot of slots) for (const [kind, count] of Object.entries(slot.parts)) if (count > 0) kinds.set(kind, (kinds.get(kind) ?? 0) + count);
  const order = [...kinds.keys()].sort((a, b) => (kinds.get(b) ?? 0) - (kinds.get(a) ?? 0));
  const isNamed = byKind && order.length > 0;
  const step = width / slots.length;
  const bars = slots.flatMap((slot, place) => {
    let y = height;
    return order.filter((kind) => slot.parts[kind] > 0).map((kind) => {
      const tall = (slot.parts[kind] / top) * height;
      y -= tall;
      const bar = draw('rect', {
        class: `bar-${Math.min(order.indexOf(kind), colours - 1)}`, x: (place * step + step * 0.1).toFixed(2), y: y.toFixed(2),
        width: (step * 0.8).toFixed(2), height: tall.toFixed(2),
      });
      bar.append(draw('title', {}, document.createTextNode(`${label(slot.at)}: ${kind} ${slot.parts[kind]}`)));
      return bar;
    });
  });
  const lines = (total === 0 ? [0, 1] : [0, 0.5, 1]).map((share) => draw('line', { class: 'grid-line', x1: 0, x2: width, y1: height * (1 - share), y2: height * (1 - share) }));
  const first = slots[0] ? label(slots[0].at) : '';
  const last = slots.at(-1) ? label(slots[slots.length - 1].at) : '';
  const filled = slots.filter((_, place) => sums[place] > 0);
  return make('figure', { class: 'chart' },
    make('figcaption', {}, make('span', { text: title }), make('strong', { text: total.toLocaleString() })),
    make('div', { class: 'chart-top quiet', 'aria-hidden': 'true', text: top.toLocaleString() }),
    make('div', { class: 'chart-field' }, draw('svg', { viewBox: `0 -2 ${width} ${height + 4}`, role: 'img', preserveAspectRatio: 'none', 'aria-label': `${title}: ${total} from ${first} to ${last}` }, ...lines, ...bars),
    total === 0 ? make('p', { class: 'chart-empty quiet', 'aria-hidden': 'true', text: 'No activity in this period' }) : null),
    make('div', { class: 'chart-ends quiet', 'aria-hidden': 'true' }, make('span', { text: first }), make('span', { text: last })),
    isNamed ? make('ul', { class: 'legend' }, ...order.map((kind, place) => make('li', { class: `legend-${Math.min(place, colours - 1)}`, text: `${kind} ${(kinds.get(kind) ?? 0).toLocaleString()}` }))) : null,
    make('details', {}, make('summary', { text: 'As a table' }),
      table(title, ['When', ...(isNamed ? order : []), 'In all'], filled.map((slot) => [
        label(slot.at), ...(isNamed ? order.map((kind) => String(slot.parts[kind] ?? 0)) : []),
        String(Object.values(slot.parts).reduce((sum, part) => sum + part, 0)),
      ]), 'Nothing happened.')));
}
