// SPDX-License-Identifier: Apache-2.0
// The reader's part inside a document of the publication. The document has no origin and shares this script's world, so this is
// not a security boundary: the outer page validates messages, and never reveals its address and tokens.
(() => {
  'use strict';
  // only the frame that the reader's page itself made; not a document's own frames, and not a window
  const words = self.carrelWords, stylesOf = self.carrelStyles, highlight = self.carrelHighlight;
  for (const name of ['carrelWords', 'carrelStyles', 'carrelHighlight']) delete self[name];
  if (self === top || parent !== top || !(document.currentScript instanceof HTMLScriptElement)) return;
  // no policy that Chromium obeys keeps these from talking to the world
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection']) delete self[name];
  const outside = new URL(document.currentScript.src).origin;
  document.currentScript.remove();

  /** @type {MessagePort|null} */
  let port = null;
  let look = { mode: 'pages', size: 100, spacing: 0, theme: 'light', paper: '#fff', ink: '#000', link: '#00e', columns: 1, margin: 24 };
  const sheet = new CSSStyleSheet();
  /** What browsers print of a frame that has the focus is not counted: there is something on paper for the reader's own button only. */
  const paper = new CSSStyleSheet();
  const noPaper = '@media print { :root:root { display: none !important; } }';
  const colors = ['yellow', 'green', 'blue', 'pink'];

  const tell = (type, values = {}) => port?.postMessage({ type, ...values });
  // MARK: pages

  const root = document.documentElement;
  const scroller = () => document.scrollingElement ?? root;
  /** The first character of the position, and its offset for a recount of the text. */
  let anchor = 0;
  let held = null;
  let isStale = false;
  /** The place on a page without words, as a part of all pages. */
  let fraction = null;
  let page = 0;
  let pages = 1;
  let isFixed = false;
  /** The position scrolled to by this script: not a new position. */
  let told = -1;
  /** The window that the pages were laid out for. */
  let laidOut = '';
  const windowSize = () => `${innerWidth}x${innerHeight}`;
  /** @type {HTMLElement|null} */
  let filler = null;
  /** Which way lines follow each other in a line's own direction (pages) and across it (scrolling): 1, or -1 from the right. */
  let flow = { writingMode: 'horizontal-tb', direction: 'ltr', isVertical: false, inline: 1, block: 1 };

  /** The body decides: its direction and writing mode apply to the whole document (CSS Writing Modes, §8). */
  function readFlow() {
    const { writingMode, direction } = getComputedStyle(document.body ?? root);
    const isVertical = writingMode !== 'horizontal-tb';
    return {
      writingMode, direction, isVertical,
      inline: (direction === 'rtl') !== (writingMode === 'sideways-lr') ? -1 : 1,
      block: writingMode.endsWith('-rl') ? -1 : 1,
    };
  }

  const paged = () => look.mode === 'pages' && !isFixed;
  const columns = () => (flow.isVertical ? 1 : look.columns);

  // Pages follow each other along the lines, and scrolling runs across them: from one side of one axis.
  const isAcross = () => paged() !== flow.isVertical;
  const from = () => (paged() ? flow.inline : flow.block);
  const view = () => (isAcross() ? innerWidth : innerHeight);
  const extent = () => (isAcross() ? scroller().scrollWidth : scroller().scrollHeight);
  const position = () => from() * (isAcross() ? scroller().scrollLeft : scroller().scrollTop);
  function moveTo(wanted) {
    if (isFixed) return;
    const to = from() * wanted;
    scroller().scrollTo({ left: isAcross() ? to : 0, top: isAcross() ? 0 : to, behavior: 'instant' });
  }
  /** Pixels from the window's start side to a rectangle's start, and to its end. */
  const begins = (box) => (isAcross() ? (from() > 0 ? box.left : innerWidth - box.right) : from() > 0 ? box.top : innerHeight - box.bottom);
  const ends = (box) => begins(box) + (isAcross() ? box.width : box.height);

  const styles = () => stylesOf({ look, flow, isFixed, isPaged: paged(), columns: columns() });

  /** Pixels from one page to the next. */
  const step = () => (paged() ? view() : Math.max(1, view() - 48));

  function count() {
    laidOut = windowSize();
    if (!paged()) { pages = Math.max(1, Math.ceil((extent() - 1) / step())); return; }
    filler?.remove();
    const total = Math.max(1, Math.round(extent() / (view() / columns())));
    if (total % columns() !== 0 && document.body) {
      filler ??= Object.assign(document.createElementNS('http://www.w3.org/1999/xhtml', 'div'), { className: 'carrel-filler' });
      filler.setAttribute('aria-hidden', 'true');
      document.body.append(filler);
    }
    pages = Math.ceil(total / columns());
  }

  function layOut() {
    sheet.replaceSync(styles());
    if (isFixed) return report(false);
    // a size may show what another hides
    words.reset();
    isStale = true;
    count();
    if (fraction === null) toOffset(place(), false); else toFraction(fraction, false);
  }

  /** The visible page if pages scroll; a fixed layout counts as one page. */
  function scrolledPage() {
    if (isFixed) return 0;
    return position() + view() >= extent() - 1 ? pages - 1 : Math.max(0, Math.min(pages - 1, Math.floor(position() / step())));
  }

  /** The page on which a rectangle begins. */
  const pageOf = (box) => Math.floor((begins(box) + position() + 1) / step());

  /** The box of the character at an offset, or of the next one that has a box within the pages. */
  function box(offset) {
    const { text } = words;
    for (let at = offset, tries = 0; at < text.length && tries < 400; at++, tries++) {
      const found = [...words.range(at, at + 1).getClientRects()].find((one) => (one.width || one.height) && pageOf(one) >= 0);
      if (found) return found;
      // as likely as not the rest of the words there have none either
      if (tries % 40 === 39) at = words.nextNode(at) - 1;
    }
    return null;
  }

  function show(wanted) {
    page = Math.max(0, Math.min(pages - 1, wanted));
    moveTo(page * step());
  }

  /** Where the anchor is, also when the words are others now. */
  function place() {
    if (!isStale) return anchor;
    isStale = false;
    if (!words.text) anchor = 0;
    else if (held?.node.isConnected) anchor = words.offsetOf(held.node, Math.min(held.at, held.node.data.length));
    else anchor = (held && words.find(held.quote, held.progression)?.start) ?? anchor;
    anchor = Math.max(0, Math.min(anchor, words.text.length - 1));
    return anchor;
  }

  function toOffset(offset, isMoved) {
    const { text } = words;
    anchor = offset;
    fraction = null;
    const found = text.length ? box(Math.min(offset, text.length - 1)) : null;
    if (!found) show(0);
    else if (paged()) show(pageOf(found));
    else { moveTo(begins(found) + position() - look.margin); page = scrolledPage(); }
    told = position();
    report(isMoved);
  }

  function toFraction(wanted, isMoved) {
    fraction = wanted;
    if (paged()) show(Math.round(wanted * pages));
    else { moveTo(wanted * extent()); page = scrolledPage(); }
    told = position();
    report(isMoved);
  }

  /** The first character that is seen. */
  function firstSeen() {
    let low = 0, high = Math.max(0, words.text.length - 1);
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = box(middle);
      const isBefore = found && (paged() ? pageOf(found) < page : ends(found) < look.margin / 2);
      if (isBefore) low = middle + 1; else high = middle;
    }
    return low;
  }

  function lastSeen(start) {
    let low = start, high = words.text.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = box(middle);
      const isSeen = found && (paged() ? pageOf(found) <= page : begins(found) < view());
      if (isSeen) low = middle + 1; else high = middle;
    }
    return low;
  }

  /** Offset of the position's first character in the window while scrolling. */
  let stands = 0;

  /** @param {boolean} isMoved whether the reader wanted to be there: only such a place is kept */
  function report(isMoved) {
    const { text } = words;
    if (fraction !== null || !text) {
      held = null;
      return tell('place', { page, pages, isMoved, progression: fraction ?? page / pages });
    }
    const quote = { before: words.reading(Math.max(0, anchor - 50), anchor), highlight: words.reading(anchor, Math.min(text.length, anchor + 90)) };
    const progression = anchor / text.length;
    held = { ...words.point(anchor), quote, progression };
    if (!paged() && !isFixed) { const found = box(anchor); stands = found ? begins(found) : 0; }
    tell('place', { page, pages, isMoved, progression, text: quote });
  }

  function turn(by) {
    if (!isReady) return;
    const isOver = paged() ? page + by < 0 || page + by >= pages : by < 0 ? position() <= 0 : position() + view() >= extent() - 1;
    if (isFixed || isOver) return tell('edge', { by });
    if (paged()) show(page + by);
    else moveTo(position() + by * step());
    settle(true);
  }

  /** Makes the visible position current. */
  function settle(isMoved) {
    if (!paged()) page = scrolledPage();
    told = position();
    isStale = false;
    anchor = firstSeen();
    const found = words.text ? box(anchor) : null;
    const isSeen = found && (paged() ? pageOf(found) === page : begins(found) < view() && ends(found) >= 0);
    fraction = isSeen ? null : paged() ? page / pages : position() / extent();
    report(isMoved);
  }

  /** The first rectangle of an element, or of a picture in it, that has an area. */
  function shownBox(element) {
    for (const one of [element, ...element.querySelectorAll('img, svg, video, audio, object, canvas, iframe')]) {
      const found = [...one.getClientRects()].find(({ width, height }) => width && height);
      if (found) return found;
    }
    return null;
  }

  function go(to) {
    const isMoved = !to.isKept;
    const { text } = words;
    const last = Math.max(0, text.length - 1);
    isStale = false;
    if (to.fragment) {
      let id = to.fragment;
      try { id = decodeURIComponent(id); } catch { /* unchanged */ }
      const element = document.getElementById(id) ?? document.getElementsByName(id)[0];
      const offset = element && text ? Math.min(words.offsetOf(element, 0), last) : 0;
      const found = element && text ? box(offset) : null;
      // a mark without any area may be left at the end of the page before its words
      const seen = element && (shownBox(element) ?? (found ? null : element.getClientRects()[0]));
      // text may follow far after the picture that is meant
      if (found && (!seen || pageOf(seen) === pageOf(found))) return toOffset(offset, isMoved);
      if (seen && !isFixed) {
        if (paged()) show(pageOf(seen)); else moveTo(begins(seen) + position() - look.margin);
        return settle(isMoved);
      }
    }
    const found = to.text ? words.find(to.text, to.progression) : null;
    if (found) {
      if (to.isHit) highlight('hit', [words.range(found.start, found.end)]);
      return toOffset(found.start, isMoved);
    }
    if (to.end) { if (paged()) show(pages - 1); else moveTo(extent()); return settle(isMoved); }
    if (typeof to.progression !== 'number') { show(0); return settle(isMoved); }
    // without words it is a part of the pages
    if (to.text?.highlight && text) toOffset(Math.floor(to.progression * last), isMoved); else toFraction(to.progression, isMoved);
  }

  // MARK: marks

  /** @type {{id: string, range: Range}[]} */
  let marked = [];
  let annotations = [];

  function mark(wanted = annotations) {
    annotations = wanted;
    marked = [];
    const byColor = new Map(colors.map((name) => [name, /** @type {Range[]} */ ([])]));
    for (const annotation of annotations) {
      const found = words.find(annotation.text, annotation.progression);
      if (!found) continue;
      const marks = words.range(found.start, found.end);
      marked.push({ id: annotation.id, range: marks });
      byColor.get(annotation.color)?.push(marks);
    }
    for (const [name, ranges] of byColor) highlight(name, ranges);
  }

  // MARK: user actions

  let waiting = 0;
  document.addEventListener('selectionchange', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const selection = getSelection();
      if (!selection || selection.isCollapsed || !selection.rangeCount || !words.text) return tell('selection', { text: '' });
      const chosen = selection.getRangeAt(0);
      const start = words.offsetOf(chosen.startContainer, chosen.startOffset), end = words.offsetOf(chosen.endContainer, chosen.endOffset);
      if (end <= start) return tell('selection', { text: '' });
      tell('selection', {
        text: selection.toString(), exact: words.reading(start, end), ...words.around(start, end), progression: start / words.text.length,
      });
    }, 120);
  });
  for (const name of ['copy', 'cut']) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      const text = getSelection()?.toString() ?? '';
      if (text) tell('copy', { text });
    }, true);
  }
  document.addEventListener('dragstart', (event) => event.preventDefault(), true);

  addEventListener('click', (event) => {
    if (event.defaultPrevented) return;
    const target = event.target instanceof Element ? event.target.closest('a, area') : null;
    const address = target?.getAttribute('href') ?? target?.getAttributeNS('http://www.w3.org/1999/xlink', 'href');
    if (target && address) {
      event.preventDefault();
      if (!event.isTrusted) return;
      try { return tell('link', { href: new URL(address, document.baseURI).href }); } catch { return; }
    }
    if (!getSelection()?.isCollapsed) return;
    const hit = marked.find(({ range }) => [...range.getClientRects()].some((found) =>
      event.clientX >= found.left && event.clientX <= found.right && event.clientY >= found.top && event.clientY <= found.bottom));
    if (hit) tell('mark', { id: hit.id });
    else tell('press', { at: event.clientX / innerWidth });
  });

  // the outer page decides the forward direction: to a side of the screen
  const sides = { ArrowRight: 1, ArrowLeft: -1 };
  const turns = { PageDown: 1, PageUp: -1, ' ': 1 };
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.altKey) return;
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest('input, textarea, select, [contenteditable]')) return;
    if (event.ctrlKey || event.metaKey) {
      if (!['f', 'p'].includes(event.key)) return;
      event.preventDefault();
      return tell('key', { key: event.key, isControl: true });
    }
    const by = turns[event.key];
    if (sides[event.key]) {
      if (!paged() && !isFixed) return;
      event.preventDefault();
      tell('side', { by: sides[event.key] });
    } else if (by && !(event.key === ' ' && target?.closest('a, button, summary, audio, video'))) {
      event.preventDefault();
      turn(event.shiftKey && event.key === ' ' ? -1 : by);
    } else if (event.key === 'Home' || event.key === 'End') {
      event.preventDefault();
      if (isReady) go(event.key === 'Home' ? {} : { end: true });
    } else if (event.key.length === 1 || event.key === 'Escape') {
      tell('key', { key: event.key, isControl: false });
    }
  });

  let touched = null;
  addEventListener('touchstart', (event) => { touched = event.touches.length === 1 ? event.touches[0] : null; }, { passive: true });
  addEventListener('touchend', (event) => {
    const end = event.changedTouches[0];
    if (!touched || !end || !getSelection()?.isCollapsed) return;
    const [x, y] = [end.clientX - touched.clientX, end.clientY - touched.clientY];
    if (Math.abs(x) > 40 && Math.abs(x) > 1.5 * Math.abs(y) && (paged() || isFixed)) tell('side', { by: -Math.sign(x) });
  }, { passive: true });
  let wheeled = 0;
  addEventListener('wheel', (event) => {
    // the direction of wheels may differ from the direction of lines
    if (event.ctrlKey) return; // the browser zooms
    if (!paged() && !isFixed && flow.isVertical && Math.abs(event.deltaY) > Math.abs(event.deltaX)) scrollBy({ left: flow.block * event.deltaY });
    if (!paged() || event.timeStamp - wheeled < 250 || Math.abs(event.deltaY) < 8) return;
    wheeled = event.timeStamp;
    turn(Math.sign(event.deltaY));
  }, { passive: true });
  /** When the reader did something last that may scroll; what a script or a late picture scrolls by itself is not kept. */
  let acted = -Infinity;
  for (const name of ['wheel', 'keydown', 'touchstart', 'touchmove', 'pointerdown', 'pointermove', 'focusin']) {
    addEventListener(name, (event) => {
      if (event.isTrusted && (name !== 'pointermove' || event.buttons)) acted = event.timeStamp;
    }, { passive: true, capture: true });
  }
  let scrolled = 0;
  addEventListener('scroll', (event) => {
    const isMeant = event.timeStamp - acted < 1500;
    // an activity that was started continues
    if (isMeant) acted = event.timeStamp;
    clearTimeout(scrolled);
    scrolled = setTimeout(() => {
      scrolled = 0;
      // the window was resized before the pages: the visible text is not a position chosen by the reader
      if (laidOut !== windowSize()) return;
      // the focus, or a search of the browser's own, went to another page
      if (paged()) { const seen = Math.round(position() / step()); if (seen === page) return; show(seen); }
      else if (Math.abs(position() - told) < 2) return;
      if (!isFixed) settle(isMeant);
    }, 100);
  });
  addEventListener('resize', () => { if (isReady) layOut(); });

  // MARK: documents that change

  let isReady = false;
  let changed = 0;
  let rest = 100;
  /** Whether lines may run another way now. */
  let isTurned = false;
  const isOwn = ({ type, addedNodes, removedNodes }) => type === 'childList' && [...addedNodes, ...removedNodes].every((node) => node === filler);

  /** After a script of the document changed its text, counts it again and keeps the position. */
  function renew() {
    changed = 0;
    if (isFixed) return;
    const begun = performance.now();
    if (isTurned) {
      isTurned = false;
      sheet.replaceSync('');
      flow = readFlow();
      sheet.replaceSync(styles());
    }
    count();
    mark();
    const found = fraction === null && words.text ? box(place()) : null;
    if (paged()) show(found ? pageOf(found) : fraction === null ? page : Math.round(fraction * pages));
    else {
      // who scrolls just now has another place in a moment
      if (found && !scrolled && Math.abs(begins(found) - stands) >= 1) moveTo(position() + begins(found) - stands);
      page = scrolledPage();
    }
    told = position();
    report(false);
    // documents that change constantly get a small part of the time
    rest = Math.max(100, 20 * (performance.now() - begun));
  }

  const observer = new MutationObserver((records) => {
    if (records.every(isOwn)) return;
    isTurned ||= records.some(({ attributeName, target }) => attributeName === 'dir' && (target === root || target === document.body));
    words.reset();
    isStale = true;
    changed ||= setTimeout(renew, rest);
  });

  // fonts and pictures may come late: the words are the same, and stand elsewhere
  const later = () => { if (isReady) changed ||= setTimeout(renew, rest); };
  document.fonts.addEventListener('loadingdone', later);
  document.addEventListener('load', later, true);

  // MARK: the page outside

  function viewport() {
    const content = document.querySelector('meta[name=viewport]')?.getAttribute('content') ?? '';
    const value = (name) => Number(new RegExp(`${name}\\s*=\\s*(\\d+)`).exec(content)?.[1] ?? 0);
    if (value('width') && value('height')) return { width: value('width'), height: value('height') };
    const drawing = root.localName === 'svg' ? /** @type {any} */ (root).viewBox?.baseVal : null;
    return drawing?.width ? { width: drawing.width, height: drawing.height } : { width: 1000, height: 1400 };
  }

  const actions = {
    look(message) { look = { ...look, ...message.look }; if (isReady) layOut(); },
    go(message) { if (isReady) go(message.to); else first = message.to; },
    turn(message) { turn(message.by); },
    marks(message) { if (isReady) mark(message.annotations); else annotations = message.annotations; },
    paper(message) { paper.replaceSync(message.isOn ? '' : noPaper); tell('paper'); },
    clear() { highlight('hit', []); getSelection()?.removeAllRanges(); },
    seen({ breaks = [] }) {
      if (!isReady) return;
      const start = firstSeen(), end = lastSeen(start), at = (element) => (element ? words.offsetOf(element, 0) : 0);
      const seen = breaks.map((id) => at(document.getElementById(id))).filter((offset) => offset > start && offset < end);
      tell('seen', { characters: Math.max(1, words.reading(start, end).length), breaks: seen.length });
    },
  };

  /** Where to go at first. */
  let first = {};

  function begin(event) {
    if (event.source !== parent || event.data?.type !== 'begin' || port) return;
    event.stopImmediatePropagation();
    port = event.ports[0];
    look = { ...look, ...event.data.look };
    isFixed = event.data.isFixed;
    first = event.data.to;
    annotations = event.data.annotations;
    if (event.data.isCounted) paper.replaceSync(noPaper);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet, paper];
    port.onmessage = (message) => actions[message.data?.type]?.(message.data);
    const ready = async () => {
      flow = readFlow();
      sheet.replaceSync(styles());
      await Promise.race([document.fonts.ready, new Promise((resolve) => setTimeout(resolve, 3000))]);
      // the look may be another one by now
      sheet.replaceSync(styles());
      words.reset();
      isReady = true;
      if (!isFixed) count();
      go(first);
      mark();
      observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['class', 'style', 'hidden', 'open', 'dir'] });
      tell('ready', { ...(isFixed ? viewport() : {}), isBackward: (flow.isVertical ? flow.block : flow.inline) < 0 });
    };
    if (document.readyState === 'complete') ready(); else addEventListener('load', ready);
  }
  addEventListener('message', begin, true);
  const hello = () => parent.postMessage({ type: 'hello' }, outside);
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', hello); else hello();
})();
