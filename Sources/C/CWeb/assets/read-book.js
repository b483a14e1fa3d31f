// SPDX-License-Identifier: Apache-2.0

// The publication: its reading order, its contents, and the resolution of addresses.

import { languageTag } from './language.js';

/**
 * @typedef {{href: string, type?: string, title?: string, children?: Link[], properties?: any, duration?: number}} Link
 * @typedef {{href: string, type: string, title?: string, locations?: any, text?: {before?: string, highlight?: string, after?: string}}} Locator
 */

/** An address relative to the publication, without its fragment, the same for every spelling. @param {string} href */
export function normal(href) {
  const url = new URL(href, 'https://publication.invalid/');
  let path = url.pathname.slice(1);
  try { path = decodeURI(path); } catch { /* unchanged */ }
  return url.origin === 'https://publication.invalid' ? path : url.href;
}

/** @param {string} href */
export const fragmentOf = (href) => (href.includes('#') ? href.slice(href.indexOf('#') + 1) : '');

/** The requested page of a PDF document (RFC 8118 §3); 0 for none. @param {{fragment?: string}} to */
export const pageIn = (to) => Number(/^page=(\d{1,6})$/.exec(to.fragment ?? '')?.[1] ?? 0);

/**
 * The start of a fragment in seconds of its track (Media Fragments URI 1.0 §4.2.1, normal play time); 0 for none. Its end is ignored: a track continues.
 * @param {{fragment?: string}} to
 */
export function timeIn(to) {
  let fragment = to.fragment ?? '';
  try { fragment = decodeURIComponent(fragment); } catch { /* unchanged */ }
  const begin = [...fragment.matchAll(/(?:^|&)t=(?:npt:)?([\d:.]*)(?=,|&|$)/g)].at(-1)?.[1] ?? '';
  const parts = begin.split(':');
  if (parts.length > 3 || !parts.every((part) => /^\d{1,9}(\.\d*)?$/.test(part))) return 0;
  return parts.reduce((sum, part) => 60 * sum + Number(part), 0);
}

/**
 * The weight of each resource in the publication: its positions, or the seconds of each track, or one if neither is known.
 * @param {Link[]} order @param {number[]} positions the number for each resource
 */
function weights(order, positions) {
  if (positions.length === order.length && positions.some((count) => count > 0)) return positions.map((count) => Math.max(1, count));
  if (order.every(({ duration }) => typeof duration === 'number' && duration > 0)) return order.map(({ duration }) => /** @type {number} */ (duration));
  return order.map(() => 1);
}

export class Book {
  /** @param {any} answer of `book` */
  constructor(answer) {
    this.manifest = answer.manifest;
    /** @type {Link[]} */
    this.order = answer.manifest.readingOrder ?? [];
    this.publication = answer.publication;
    this.pages = answer.pages;
    this.documents = answer.documents;
    this.protection = answer.protection;
    this.rights = answer.rights;
    this.drawsDocuments = answer.drawsDocuments;
    this.isCounted = answer.protectedBy !== null || this.drawsDocuments;
    const title = answer.manifest.metadata.title;
    this.title = typeof title === 'string' ? title : Object.values(title)[0];
    const author = [answer.manifest.metadata.author ?? []].flat().map((one) => {
      const name = one.name ?? one;
      return typeof name === 'string' ? name : Object.values(name)[0];
    });
    this.authors = author.join(', ');
    this.language = languageTag([answer.manifest.metadata.language ?? []].flat()[0]);
    this.places = new Map(this.order.map((link, index) => [normal(link.href), index]));
    /** Documents outside the reading order, such as notes, with their headings. @type {Map<string, string>} */
    this.besides = new Map((answer.manifest.resources ?? [])
      .filter((/** @type {Link} */ link) => /^(application\/xhtml\+xml|text\/html)\b/.test(link.type ?? '') && !this.places.has(normal(link.href)))
      .map((/** @type {Link} */ link) => [normal(link.href), link.title ?? '']));
    const fixed = answer.manifest.metadata.layout === 'fixed' || answer.manifest.metadata.presentation?.layout === 'fixed';
    this.isFixed = (/** @type {Link} */ link) => (link.properties?.layout ? link.properties.layout === 'fixed' : fixed);
    /** @type {{link: Link, depth: number}[]} */
    this.contents = [];
    const walk = (/** @type {Link[]} */ links, depth) => {
      for (const link of links) {
        this.contents.push({ link, depth });
        if (depth < 8) walk(link.children ?? [], depth + 1);
      }
    };
    walk(answer.manifest.toc ?? [], 0);
    if (!this.contents.length) {
      this.contents = this.order.map((link, index) => ({ link: { ...link, title: link.title ?? (this.order.length === 1 ? this.title : `${this.kindOf(link) === 'image' ? 'Page' : 'Part'} ${index + 1}`) }, depth: 0 }));
    }
    /** The heading of each document of the reading order: the first heading in it, or the previous document's. @type {string[]} */
    this.headings = [];
    const first = new Map();
    for (const { link } of this.contents) {
      const at = this.indexOf(link.href);
      if (at >= 0 && link.title && !first.has(at)) first.set(at, link.title);
      if (link.title && this.besides.get(normal(link.href)) === '') this.besides.set(normal(link.href), link.title);
    }
    for (let at = 0, heading = ''; at < this.order.length; at++) {
      heading = first.get(at) ?? heading;
      this.headings.push(heading || this.order[at].title || '');
    }
    /** @type {number[]} */
    const positions = answer.positions ?? [];
    this.hasPositions = positions.length === this.order.length && positions.some((count) => count > 0);
    this.weights = weights(this.order, positions);
    /** The weight before each resource, and the total at the end. */
    this.before = [0];
    for (const weight of this.weights) this.before.push(this.before[this.before.length - 1] + weight);
    this.cover = this.order.concat(answer.manifest.resources ?? [], answer.manifest.links ?? [])
      .find((link) => [/** @type {any} */ (link).rel ?? []].flat().includes('cover'));
  }

  /** The place in the reading order of what an address leads to; -1 when it leads elsewhere. @param {string} href */
  indexOf(href) { return this.places.get(normal(href)) ?? -1; }

  /** How much of the publication lies before a place, from 0 to 1. @param {number} index @param {number} progression in the resource */
  total(index, progression) {
    return (this.before[index] + Math.min(1, progression) * this.weights[index]) / this.before[this.order.length];
  }

  /** The number of the position at a place, from 1; undefined if the publication has none. @param {number} index @param {number} progression */
  position(index, progression) {
    if (!this.hasPositions) return undefined;
    return this.before[index] + Math.min(this.weights[index] - 1, Math.floor(progression * this.weights[index])) + 1;
  }

  /** Where the pages of the printed book begin in a document, as its page list says: fragments. @param {number} index */
  pageBreaks(index) {
    return (this.manifest.pageList ?? []).filter((/** @type {Link} */ link) => this.indexOf(link.href) === index)
      .map((/** @type {Link} */ link) => {
        const fragment = fragmentOf(link.href);
        try { return decodeURIComponent(fragment); } catch { return fragment; }
      });
  }

  /** What kind of view shows a link. @param {Link} link */
  kindOf(link) {
    const type = (link.type ?? '').split(';')[0];
    if (type.startsWith('audio/')) return 'audio';
    if (type === 'application/pdf') return this.drawsDocuments ? 'drawn' : 'pdf';
    if (type.startsWith('image/') && type !== 'image/svg+xml') return 'image';
    return 'document';
  }

  /** The heading under which a place of the reading order stands. @param {number} index */
  headingOf(index) { return this.headings[index] ?? ''; }

  /** The heading of an address, in the reading order or outside it. @param {string} href */
  headingAt(href) { return this.headings[this.indexOf(href)] ?? this.besides.get(normal(href)) ?? ''; }

  /** Whether an address leads to a document outside the reading order. @param {string} href */
  isBeside(href) { return this.besides.has(normal(href)); }
}
