// The reader's part inside a document of the publication. The document has no origin and shares this script's world, so nothing here
// is a wall: the page outside checks what comes, and its address and tokens are never told.
(() => {
  'use strict';
  // only the frame that the reader's page itself made; not a document's own frames, and not a window
  if (self === top || parent !== top || !(document.currentScript instanceof HTMLScriptElement)) return;
  const outside = new URL(document.currentScript.src).origin;
  document.currentScript.remove();

  /** @type {MessagePort|null} */
  let port = null;
  let look = { mode: 'pages', size: 100, spacing: 0, theme: 'light', paper: '#fff', ink: '#000', link: '#00e', columns: 1, margin: 24 };
  const sheet = new CSSStyleSheet();
  const colors = ['yellow', 'green', 'blue', 'pink'];

  const tell = (type, values = {}) => port?.postMessage({ type, ...values });

  // MARK: words, without white space, so that no layout of the source counts

  const blank = /[\s\u00ad]/;
  const bare = (text) => text.replace(/[\s\u00ad]+/g, '');
  /** @type {{text: string, nodes: Text[], starts: number[]}|null} */
  let words = null;

  function index() {
    if (words) return words;
    const nodes = [], starts = [], parts = [];
    let length = 0;
    const walker = document.createTreeWalker(document.body ?? document.documentElement, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = /** @type {Text} */ (walker.currentNode);
      if (node.parentElement?.closest('script, style, template, title, desc')) continue;
      const text = bare(node.data);
      if (!text) continue;
      nodes.push(node);
      starts.push(length);
      parts.push(text);
      length += text.length;
    }
    words = { text: parts.join(''), nodes, starts };
    return words;
  }

  /** The text node and the place in it of the character at `offset`. */
  function point(offset) {
    const { nodes, starts } = index();
    let low = 0, high = nodes.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= offset) low = middle; else high = middle - 1;
    }
    const node = nodes[low];
    let left = offset - starts[low], at = 0;
    for (; at < node.data.length; at++) {
      if (blank.test(node.data[at])) continue;
      if (left-- === 0) break;
    }
    return { node, at: Math.min(at, Math.max(0, node.data.length - 1)) };
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

  /** The words as they are read, white space and all. */
  function reading(start, end) {
    if (end <= start) return '';
    return range(start, end).toString().replace(/\u00ad/g, '').replace(/\s+/g, ' ');
  }

  function around(start, end) {
    const { text } = index();
    return { before: reading(Math.max(0, start - 50), start), after: reading(end, Math.min(text.length, end + 50)) };
  }

  /** Where words stand: of all places that have them the one with the most of the context, and then the nearest. */
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

  // MARK: pages

  const root = document.documentElement;
  const scroller = () => document.scrollingElement ?? root;
  let anchor = 0;
  let page = 0;
  let pages = 1;
  let isFixed = false;
  /** Where we scrolled to ourselves: that is no new place. */
  let told = -1;
  /** The window that the pages were laid out for. */
  let laidOut = '';
  const windowSize = () => `${innerWidth}x${innerHeight}`;
  /** @type {HTMLElement|null} */
  let filler = null;

  const paged = () => look.mode === 'pages' && !isFixed;
  const sideways = () => (getComputedStyle(root).direction === 'rtl' ? -1 : 1);

  function styles() {
    const marks = colors.map((name) => `::highlight(carrel-${name}) { background-color: ${look.marks?.[name] ?? 'Mark'}; color: inherit; }`);
    const rules = [...marks, `::highlight(carrel-hit) { background-color: ${look.link}; color: ${look.paper}; }`];
    if (isFixed) return rules.join('\n');
    const pad = look.margin;
    rules.push(`
      :root:root { background: ${look.paper} !important; color: ${look.ink}; margin: 0 !important; box-sizing: border-box !important; -webkit-text-size-adjust: 100%;
        min-width: 0 !important; max-width: none !important; width: auto !important; }
      :where(html) { line-height: 1.5; font-family: "Iowan Old Style", Palatino, "Palatino Linotype", P052, "Noto Serif", Georgia, serif; }
      body { background: transparent; overflow-wrap: break-word; }
      a:link, a:visited { color: ${look.link}; }
      img, svg, video, object, canvas { max-width: 100% !important; max-height: calc(100vh - ${2 * pad}px) !important; object-fit: contain; box-sizing: border-box; break-inside: avoid; }
      pre { white-space: pre-wrap; }
      h1, h2, h3, h4 { break-after: avoid; }
      p { orphans: 2; widows: 2; }`);
    if (look.size !== 100) rules.push(`:root:root { font-size: ${look.size}% !important; } body { font-size: 1rem !important; }`);
    if (look.spacing) rules.push(`body, p, li, div, blockquote { line-height: ${look.spacing} !important; }`);
    if (look.theme !== 'light') {
      rules.push(`body, body * { color: ${look.ink} !important; background-color: transparent !important; border-color: currentColor !important; }
        body a:link, body a:visited, body a:link * { color: ${look.link} !important; }`);
    }
    const box = `height: auto !important; margin: 0 auto !important; box-sizing: border-box !important; position: static !important;`;
    if (paged()) {
      rules.push(`
        :root:root { height: 100vh !important; max-height: 100vh !important; padding: ${pad}px 0 !important; overflow: hidden !important;
          column-width: auto !important; column-count: ${look.columns} !important; column-gap: 0 !important; column-fill: auto !important; }
        body { ${box} padding: 0 ${pad}px !important; max-width: 44rem !important; min-height: 0 !important; }
        .carrel-filler { break-before: column; height: 1px; visibility: hidden; }`);
    } else {
      rules.push(`:root:root { height: auto !important; overflow: auto !important; padding: ${pad}px 0 !important; }
        body { ${box} padding: 0 ${pad}px !important; max-width: 44rem !important; }`);
    }
    return rules.join('\n');
  }

  /** Pixels from one page to the next. */
  const step = () => (paged() ? innerWidth : Math.max(1, innerHeight - 48));

  function count() {
    laidOut = windowSize();
    if (!paged()) { pages = Math.max(1, Math.ceil((scroller().scrollHeight - 1) / step())); return; }
    filler?.remove();
    const total = Math.max(1, Math.round(scroller().scrollWidth / (innerWidth / look.columns)));
    if (total % look.columns !== 0 && document.body) {
      filler ??= Object.assign(document.createElementNS('http://www.w3.org/1999/xhtml', 'div'), { className: 'carrel-filler' });
      filler.setAttribute('aria-hidden', 'true');
      document.body.append(filler);
    }
    pages = Math.ceil(total / look.columns);
  }

  function layOut() {
    sheet.replaceSync(styles());
    if (isFixed) return report();
    count();
    toOffset(anchor);
  }

  /** The page on which a rectangle begins. */
  const pageOf = (box) => {
    if (!paged()) return Math.floor((box.top + scroller().scrollTop) / step());
    const from = sideways() > 0 ? box.left + scroller().scrollLeft : innerWidth - box.right - scroller().scrollLeft;
    return Math.floor((from + 1) / step());
  };

  /** The box of the character at an offset, or of the next one that has a box. */
  function box(offset) {
    const { text } = index();
    for (let at = offset; at < Math.min(text.length, offset + 400); at++) {
      const found = range(at, at + 1).getClientRects()[0];
      if (found && (found.width || found.height)) return found;
    }
    return null;
  }

  function show(wanted) {
    page = Math.max(0, Math.min(pages - 1, wanted));
    if (paged()) scroller().scrollTo({ left: sideways() * page * step(), top: 0, behavior: 'instant' });
    else scroller().scrollTo({ top: page * step(), behavior: 'instant' });
  }

  function toOffset(offset) {
    anchor = offset;
    const { text } = index();
    const found = text.length ? box(Math.min(offset, text.length - 1)) : null;
    if (!found) show(0);
    else if (paged()) show(pageOf(found));
    else { scroller().scrollTo({ top: found.top + scroller().scrollTop - look.margin, behavior: 'instant' }); page = pageOf(found); }
    told = scroller().scrollTop;
    report();
  }

  /** The first character that is seen. */
  function firstSeen() {
    const { text } = index();
    let low = 0, high = Math.max(0, text.length - 1);
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = box(middle);
      const isBefore = found && (paged() ? pageOf(found) < page : found.bottom < look.margin / 2);
      if (isBefore) low = middle + 1; else high = middle;
    }
    return low;
  }

  function lastSeen(start) {
    const { text } = index();
    let low = start, high = text.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = box(middle);
      const isSeen = found && (paged() ? pageOf(found) <= page : found.top < innerHeight);
      if (isSeen) low = middle + 1; else high = middle;
    }
    return low;
  }

  function report() {
    const { text } = index();
    const end = Math.min(text.length, anchor + 90);
    tell('place', {
      page, pages,
      progression: text.length ? anchor / text.length : page / pages,
      text: { before: reading(Math.max(0, anchor - 50), anchor), highlight: reading(anchor, end) },
    });
  }

  function turn(by) {
    const isOver = paged() ? page + by < 0 || page + by >= pages : by < 0 ? scroller().scrollTop <= 0 : scroller().scrollTop + innerHeight >= scroller().scrollHeight - 1;
    if (isFixed || isOver) return tell('edge', { by });
    if (paged()) show(page + by);
    else scroller().scrollBy({ top: by * step(), behavior: 'instant' });
    settle();
  }

  /** Takes what is seen now for the place. */
  function settle() {
    if (!paged()) page = Math.floor(scroller().scrollTop / step());
    told = scroller().scrollTop;
    anchor = firstSeen();
    report();
  }

  function go(to) {
    if (to.fragment) {
      let id = to.fragment;
      try { id = decodeURIComponent(id); } catch { /* as it is */ }
      const element = document.getElementById(id) ?? document.getElementsByName(id)[0];
      if (element) {
        const place = offsetOf(element, 0);
        if (!isFixed && !index().text) return;
        return toOffset(Math.min(place, Math.max(0, index().text.length - 1)));
      }
    }
    const found = to.text ? find(to.text, to.progression) : null;
    if (found) {
      if (to.isHit) CSS.highlights.set('carrel-hit', new Highlight(range(found.start, found.end)));
      return toOffset(found.start);
    }
    if (to.end) { show(pages - 1); if (!paged()) scroller().scrollTo({ top: scroller().scrollHeight, behavior: 'instant' }); return settle(); }
    if (typeof to.progression === 'number') return toOffset(Math.floor(to.progression * Math.max(0, index().text.length - 1)));
    toOffset(0);
  }

  // MARK: marks

  /** @type {{id: string, range: Range}[]} */
  let marked = [];

  function mark(annotations) {
    marked = [];
    const byColor = new Map(colors.map((name) => [name, /** @type {Range[]} */ ([])]));
    for (const annotation of annotations) {
      const found = find(annotation.text, annotation.progression);
      if (!found) continue;
      const place = range(found.start, found.end);
      marked.push({ id: annotation.id, range: place });
      byColor.get(annotation.color)?.push(place);
    }
    for (const [name, ranges] of byColor) CSS.highlights.set(`carrel-${name}`, new Highlight(...ranges));
  }

  // MARK: what the reader does

  let waiting = 0;
  document.addEventListener('selectionchange', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const selection = getSelection();
      if (!selection || selection.isCollapsed || !selection.rangeCount || !index().text) return tell('selection', { text: '' });
      const chosen = selection.getRangeAt(0);
      const start = offsetOf(chosen.startContainer, chosen.startOffset), end = offsetOf(chosen.endContainer, chosen.endOffset);
      if (end <= start) return tell('selection', { text: '' });
      tell('selection', {
        text: selection.toString(), exact: reading(start, end), ...around(start, end), progression: start / index().text.length,
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
    const hit = marked.find(({ range: place }) => [...place.getClientRects()].some((found) =>
      event.clientX >= found.left && event.clientX <= found.right && event.clientY >= found.top && event.clientY <= found.bottom));
    if (hit) tell('mark', { id: hit.id });
    else tell('press', { at: event.clientX / innerWidth });
  });

  const turns = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1, ' ': 1 };
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
    if (by && !(event.key === ' ' && target?.closest('a, button, summary, audio, video'))) {
      if (!paged() && !isFixed && event.key.startsWith('Arrow')) return;
      event.preventDefault();
      const isBack = event.shiftKey && event.key === ' ';
      turn(event.key.startsWith('Arrow') ? by * sideways() : isBack ? -1 : by);
    } else if (event.key === 'Home' || event.key === 'End') {
      event.preventDefault();
      go(event.key === 'Home' ? {} : { end: true });
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
    if (Math.abs(x) > 40 && Math.abs(x) > 1.5 * Math.abs(y) && (paged() || isFixed)) turn(-Math.sign(x) * sideways());
  }, { passive: true });
  let wheeled = 0;
  addEventListener('wheel', (event) => {
    if (!paged() || event.timeStamp - wheeled < 250 || Math.abs(event.deltaY) < 8) return;
    wheeled = event.timeStamp;
    turn(Math.sign(event.deltaY));
  }, { passive: true });
  let scrolled = 0;
  addEventListener('scroll', () => {
    clearTimeout(scrolled);
    scrolled = setTimeout(() => {
      // the window has another size, and the pages have not: what is seen now is no place that the reader chose
      if (laidOut !== windowSize()) return;
      // the focus, or a search of the browser's own, went to another page
      if (paged()) { const seen = Math.round(Math.abs(scroller().scrollLeft) / step()); if (seen === page) return; show(seen); }
      else if (Math.abs(scroller().scrollTop - told) < 2) return;
      if (!isFixed) settle();
    }, 100);
  });
  addEventListener('resize', () => { if (port) layOut(); });

  // MARK: the page outside

  function viewport() {
    const content = document.querySelector('meta[name=viewport]')?.getAttribute('content') ?? '';
    const value = (name) => Number(new RegExp(`${name}\\s*=\\s*(\\d+)`).exec(content)?.[1] ?? 0);
    if (value('width') && value('height')) return { width: value('width'), height: value('height') };
    const drawing = root.localName === 'svg' ? /** @type {any} */ (root).viewBox?.baseVal : null;
    return drawing?.width ? { width: drawing.width, height: drawing.height } : { width: 1000, height: 1400 };
  }

  const actions = {
    look(message) { look = { ...look, ...message.look }; layOut(); },
    go(message) { go(message.to); },
    turn(message) { turn(message.by); },
    marks(message) { mark(message.annotations); },
    clear() { CSS.highlights.delete('carrel-hit'); getSelection()?.removeAllRanges(); },
    seen() { const start = firstSeen(); tell('seen', { characters: Math.max(1, lastSeen(start) - start) }); },
  };

  function begin(event) {
    if (event.source !== parent || event.data?.type !== 'begin' || port) return;
    event.stopImmediatePropagation();
    port = event.ports[0];
    look = { ...look, ...event.data.look };
    isFixed = event.data.isFixed;
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    if (!isFixed && getComputedStyle(document.body ?? root).writingMode.startsWith('vertical')) look.mode = 'scroll';
    port.onmessage = (message) => actions[message.data?.type]?.(message.data);
    const ready = async () => {
      sheet.replaceSync(styles());
      await Promise.race([document.fonts.ready, new Promise((resolve) => setTimeout(resolve, 3000))]);
      words = null;
      if (!isFixed) count();
      go(event.data.to);
      mark(event.data.annotations);
      tell('ready', isFixed ? viewport() : {});
    };
    if (document.readyState === 'complete') ready(); else addEventListener('load', ready);
  }
  addEventListener('message', begin, true);
  const hello = () => parent.postMessage({ type: 'hello' }, outside);
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', hello); else hello();
})();
