// SPDX-License-Identifier: Apache-2.0

// The words of a document of the publication, for read-frame.js: without white space, so that no layout of the source counts, and
// only the visible ones, so that hidden text is never a position.
(() => {
  'use strict';
  document.currentScript?.remove();

  const blank = /[\s\u00ad]/;
  const bare = (text) => text.replace(/[\s\u00ad]+/g, '');
  const unread = new Set(['script', 'style', 'template', 'title', 'desc', 'noscript']);
  /** Characters of a long node between two entries of its table. */
  const stride = 128;
  /** @type {{text: string, nodes: Text[], starts: number[], tables: Map<Text, number[]>}|null} */
  let words = null;

  /** Whether an element hides its content. */
  function isHidden(element, style) {
    const parent = element.parentElement;
    if (unread.has(element.localName) || style.display === 'none' || style.contentVisibility === 'hidden') return true;
    if (parent?.localName === 'details' && !parent.open && element !== parent.querySelector(':scope > summary')) return true;
    if (style.position !== 'absolute' && style.position !== 'fixed') return false;
    // for screen readers only: clipped to nothing, or outside everything that can be scrolled to
    const box = element.getBoundingClientRect();
    if ((box.width <= 1 || box.height <= 1) && style.overflow !== 'visible') return true;
    const { scrollLeft, scrollTop } = document.scrollingElement ?? document.documentElement;
    const flow = getComputedStyle(document.body ?? document.documentElement);
    const isRightToLeft = flow.writingMode.endsWith('-rl') || (flow.writingMode === 'horizontal-tb' && flow.direction === 'rtl');
    const isBeside = isRightToLeft ? box.left + scrollLeft >= innerWidth : box.right + scrollLeft <= 0;
    return box.width > 0 && (isBeside || box.bottom + scrollTop <= 0);
  }

  function index() {
    if (words) return words;
    const nodes = [], starts = [], parts = [];
    let length = 0;
    /** Elements whose own text is shown. */
    const shown = new Set();
    const top = document.body ?? document.documentElement;
    const look = (element) => {
      const style = getComputedStyle(element);
      if (isHidden(element, style)) return false;
      if (style.visibility === 'visible' && style.fontSize !== '0px') shown.add(element);
      return true;
    };
    look(top);
    const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) => {
      if (node.nodeType === Node.ELEMENT_NODE) return look(node) ? NodeFilter.FILTER_SKIP : NodeFilter.FILTER_REJECT;
      const parent = /** @type {any} */ (node.parentElement);
      return shown.has(parent) && !(parent.localName === 'details' && !parent.open) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT;
    });
    while (walker.nextNode()) {
      const node = /** @type {Text} */ (walker.currentNode);
      const text = bare(node.data);
      if (!text) continue;
      nodes.push(node);
      starts.push(length);
      parts.push(text);
      length += text.length;
    }
    words = { text: parts.join(''), nodes, starts, tables: new Map() };
    return words;
  }

  /** Which node has the character at an offset. */
  function nodeAt(offset) {
    const { nodes, starts } = index();
    let low = 0, high = nodes.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= offset) low = middle; else high = middle - 1;
    }
    return low;
  }

  /** Offsets of regular steps within a long node. */
  function table(node) {
    const { tables } = index();
    let found = tables.get(node);
    if (found) return found;
    found = [];
    let count = 0;
    for (const { index: at, 0: run } of node.data.matchAll(/[^\s\u00ad]+/g)) {
      for (let next = Math.ceil(count / stride) * stride; next < count + run.length; next += stride) found.push(at + next - count);
      count += run.length;
    }
    tables.set(node, found);
    return found;
  }

  /** The text node and the place in it of the character at `offset`. */
  function point(offset) {
    const { nodes, starts } = index();
    const low = nodeAt(offset);
    const node = nodes[low], { data } = node;
    let left = offset - starts[low], at = 0;
    if (left >= stride) {
      const entries = table(node);
      const entry = Math.min(entries.length - 1, Math.floor(left / stride));
      at = entries[entry];
      left -= entry * stride;
    }
    for (; at < data.length; at++) {
      if (blank.test(data[at])) continue;
      if (left-- === 0) break;
    }
    return { node, at: Math.min(at, Math.max(0, data.length - 1)) };
  }

  function range(start, end) {
    const found = document.createRange();
    const first = point(start), last = point(Math.max(start, end - 1));
    found.setStart(first.node, first.at);
    found.setEnd(last.node, last.at + 1);
    return found;
  }

  /** The place of a boundary of a range among the characters. */
  function offsetOf(container, at) {
    const { nodes, starts, text } = index();
    const mark = document.createRange();
    mark.setStart(container, at);
    let low = 0, high = nodes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const node = nodes[middle];
      if (node === container || mark.comparePoint(node, 0) >= 0) high = middle; else low = middle + 1;
    }
    if (low === nodes.length) return text.length;
    return nodes[low] === container ? starts[low] + bare(nodes[low].data.slice(0, at)).length : starts[low];
  }

  /** The text as read, including white space. */
  function reading(start, end) {
    if (end <= start) return '';
    const { nodes, starts } = index();
    const first = point(start), last = point(end - 1);
    let text = '';
    // hidden text between them is skipped
    for (let at = nodeAt(start); at < nodes.length && starts[at] < end; at++) {
      const node = nodes[at];
      text += node.data.slice(node === first.node ? first.at : 0, node === last.node ? last.at + 1 : undefined);
      if (node !== last.node) text += gap(node, nodes[at + 1]);
    }
    return text.replace(/\u00ad/g, '').replace(/\s+/g, ' ');
  }

  /** White space that stands between two nodes with words, and nothing else of what does. */
  function gap(from, to) {
    const between = document.createRange();
    between.setStartAfter(from);
    between.setEndBefore(to);
    return /\s/.test(between.toString().slice(0, 2000)) ? ' ' : '';
  }

  function around(start, end) {
    const { text } = index();
    return { before: reading(Math.max(0, start - 50), start), after: reading(end, Math.min(text.length, end + 50)) };
  }

  /** Finds a quote: among all occurrences the one with the most matching context, then the nearest. */
  function find(quote, progression) {
    const { text } = index();
    const wanted = bare(quote.highlight ?? '');
    if (!wanted) return null;
    const before = bare(quote.before ?? ''), after = bare(quote.after ?? '');
    const near = (progression ?? 0) * text.length;
    let best = null, score = -Infinity;
    for (let at = text.indexOf(wanted), count = 0; at >= 0 && count < 2000; at = text.indexOf(wanted, at + 1), count++) {
      let same = 0;
      while (same < before.length && text[at - 1 - same] === before[before.length - 1 - same]) same++;
      let then = 0;
      while (then < after.length && text[at + wanted.length + then] === after[then]) then++;
      const value = same + then - Math.abs(at - near) / (text.length + 1);
      if (value > score) { score = value; best = at; }
    }
    return best === null ? null : { start: best, end: best + wanted.length };
  }

  self.carrelWords = {
    get text() { return index().text; },
    /** The offset at which the node after the one at `offset` begins. */
    nextNode(offset) {
      const { starts, text } = index();
      return starts[nodeAt(offset) + 1] ?? text.length;
    },
    /** What is known of the document is no longer true. */
    reset() { words = null; },
    point, range, offsetOf, reading, around, find,
  };
})();
