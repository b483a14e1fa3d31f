// SPDX-License-Identifier: Apache-2.0

// Explanation of a reader's access: the findings of each entitlement source, in order.

import { call, query } from './admin-api.js';
import { form, mark, table, time } from './admin-parts.js';
import { make } from './dom.js';

/** @type {Record<string, 'good'|'bad'|'calm'>} */
const tones = { granted: 'good', asked: 'calm' };

/** @param {string} [name] the account; prompts for it if omitted */
export function explainForm(name) {
  const answer = make('div', { id: 'explanation', 'aria-live': 'polite' });
  const product = { name: 'product', label: 'Product id, title id or ISBN', required: true, maxlength: 256, hint: 'For an audiobook, the orders are explained.' };
  return make('div', {}, form({
    name: 'explain', verb: 'Explain', quiet: true, keeps: true,
    fields: name ? [product] : [{ name: 'name', label: 'Name', required: true, hint: 'The reader’s sign-in name, here or at an upstream system.' }, product],
    onsubmit: async (values) => {
      answer.replaceChildren();
      const found = await call('GET', `explanations${query({ name: name ?? values.name, product: values.product })}`);
      answer.replaceChildren(...verdict(found));
    },
  }), answer);
}

/** @param {any} found @returns {Node[]} */
function verdict(found) {
  const known = found.sources.filter((/** @type {any} */ source) => source.knows);
  const nodes = [];
  for (const title of found.titles) nodes.push(make('p', { class: 'quiet', text: `Audiobook: ${title.title}` }));
  if (!found.state && found.titles.length === 0) nodes.push(make('p', { class: 'quiet', text: 'The catalog has no such product, so plans with scope “everything” do not grant it.' }));
  else if (found.state && found.state !== 'published') nodes.push(make('p', { class: 'quiet', text: `The product is ${found.state}.` }));
  if (known.length === 0) return [make('p', {}, mark('unknown', 'bad'), ` No source knows this name. Sources checked: ${found.sources.map((/** @type {any} */ source) => source.name).join(', ')}.`), ...nodes];
  for (const source of found.sources) {
    nodes.push(make('h3', { class: 'source', text: `Source: ${source.name}` }));
    if (!source.knows) {
      nodes.push(make('p', { class: 'quiet', text: 'No such account.' }));
      continue;
    }
    nodes.push(make('p', {}, mark(source.verdict, tones[source.verdict] ?? 'bad'), source.rule ? ` by ${source.rule}` : '',
      source.name === found.source ? make('span', { class: 'quiet', text: '  This source decides.' }) : ''));
    if (source.lastGrant) nodes.push(make('p', { class: 'quiet' }, 'Credentials were last issued ', time(source.lastGrant.at), `, by ${source.lastGrant.rule}.`));
    nodes.push(table(`Findings of ${source.name}`, ['Rule', 'Effect', 'Reason'], source.findings.map((/** @type {any} */ finding) => [finding.rule, finding.effect, finding.reason]), 'No matching rule.'));
  }
  return nodes;
}
