// SPDX-License-Identifier: Apache-2.0

// A document of the publication in a frame without an origin. Its messages are untrusted.

import { byId } from './dom.js';

const number = (value, low, high) => (typeof value === 'number' && value >= low && value <= high ? value : low);
const text = (value, limit) => (typeof value === 'string' ? value.slice(0, limit) : '');

export class PagesView {
  /**
   * @param {string} base address of the documents
   * @param {Record<string, (message: any) => void>} heard what happens in the document, by the message's type
   */
  constructor(base, heard) {
    this.base = base;
    this.heard = heard;
    this.holder = byId('stage');
    /** @type {HTMLIFrameElement|null} */
    this.frame = null;
    /** @type {MessagePort|null} */
    this.port = null;
    this.start = null;
    this.strayed = '';
    this.strays = 0;
    addEventListener('message', (event) => this.hello(event));
    addEventListener('resize', () => this.fit());
  }

  /** @param {string} href @param {any} start look, to, annotations, isFixed */
  open(href, title, start) {
    this.close();
    this.start = start;
    this.size = null;
    const frame = document.createElement('iframe');
    frame.id = 'page';
    frame.title = title;
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.setAttribute('referrerpolicy', 'no-referrer');
    frame.src = new URL(this.base + href.replace(/^\/+/, '').replace(/#.*$/, ''), location.origin).href;
    this.frame = frame;
    let loads = 0;
    // a document that went elsewhere by itself is sent back, unless it does nothing else
    frame.addEventListener('load', () => {
      if (frame !== this.frame) return;
      // a document without the server's script sends nothing
      if (++loads < 2) return setTimeout(() => { if (frame === this.frame && this.start) this.heard.loaded({}); }, 1000);
      this.strays = href === this.strayed ? this.strays + 1 : 1;
      this.strayed = href;
      this.port?.close();
      this.port = null;
      if (this.strays <= 3) this.heard.strayed({}); else this.heard.loaded({});
    });
    this.holder.append(frame);
  }

  close() {
    this.port?.close();
    this.port = null;
    this.frame?.remove();
    this.frame = null;
  }

  /** A document has come that wants a port: once for each that we opened. */
  hello(event) {
    if (!this.frame || event.source !== this.frame.contentWindow || event.origin !== 'null' || event.data?.type !== 'hello') return;
    if (!this.start) return;
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    // messages of a previous document are ignored
    port1.onmessage = (message) => { if (this.port === port1) this.receive(message.data); };
    // a document without an origin has no other target name; the window is our own frame's
    this.frame.contentWindow?.postMessage({ type: 'begin', ...this.start }, '*', [port2]);
    this.start = null;
  }

  receive(data) {
    if (typeof data !== 'object' || !data) return;
    const message = {
      type: text(data.type, 20),
      page: number(data.page, 0, 1e6), pages: number(data.pages, 1, 1e6), progression: number(data.progression, 0, 1),
      by: data.by === -1 ? -1 : 1, at: number(data.at, 0, 1), characters: number(data.characters, 1, 1e6), breaks: number(data.breaks, 0, 1e4),
      width: number(data.width, 0, 1e4), height: number(data.height, 0, 1e4),
      href: text(data.href, 4000), id: text(data.id, 200), key: text(data.key, 20), isControl: data.isControl === true,
      isMoved: data.isMoved === true, isBackward: data.isBackward === true,
      exact: text(data.exact, 20000), prefix: text(data.before, 500), suffix: text(data.after, 500),
      content: text(typeof data.text === 'string' ? data.text : '', 1e6),
      quote: { before: text(data.text?.before, 500), highlight: text(data.text?.highlight, 500) },
    };
    if (message.type === 'ready' && message.width && message.height) {
      this.size = { width: message.width, height: message.height };
      this.fit();
    }
    if (Object.hasOwn(this.heard, message.type)) this.heard[message.type](message);
  }

  /** Shows a page that its publisher laid out as large as there is room. */
  fit() {
    if (!this.frame) return;
    const { style } = this.frame;
    if (!this.size) return;
    const scale = Math.min(this.holder.clientWidth / this.size.width, this.holder.clientHeight / this.size.height);
    this.frame.classList.add('fixed');
    style.width = `${this.size.width}px`;
    style.height = `${this.size.height}px`;
    style.left = `${(this.holder.clientWidth - this.size.width * scale) / 2}px`;
    style.top = `${(this.holder.clientHeight - this.size.height * scale) / 2}px`;
    style.transform = `scale(${scale})`;
  }

  /** @param {string} type @param {any} [values] */
  send(type, values = {}) {
    // the initial content may change before the document requests it
    if (this.start && ['look', 'go', 'marks'].includes(type)) Object.assign(this.start, values);
    this.port?.postMessage({ type, ...values });
  }

  /** Sends keys to the document. A frame whose document loaded after it was focused must be focused again. */
  focus() {
    this.frame?.blur();
    this.frame?.focus();
  }
}
