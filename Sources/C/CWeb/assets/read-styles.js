// SPDX-License-Identifier: Apache-2.0

// The styles of a document of the publication, for read-frame.js: paper and ink, sizes, and columns that are pages.
(() => {
  'use strict';
  document.currentScript?.remove();

  const colors = ['yellow', 'green', 'blue', 'pink'];

  /**
   * Colors ranges of the document, if the browser supports it: Firefox from 140, Safari from 17.2. Otherwise notes are listed, and hits are scrolled to.
   * @param {string} name @param {Range[]} ranges
   */
  self.carrelHighlight = (name, ranges) => {
    if (CSS.highlights && self.Highlight) CSS.highlights.set(`carrel-${name}`, new Highlight(...ranges));
  };

  /** The style sheet of a document of the publication, by how the reader wants pages and how its lines run. */
  self.carrelStyles = ({ look, flow, isFixed, isPaged, columns }) => {
    const marks = colors.map((name) => `::highlight(carrel-${name}) { background-color: ${look.marks?.[name] ?? 'Mark'}; color: inherit; }`);
    const rules = [...marks, `::highlight(carrel-hit) { background-color: ${look.link}; color: ${look.paper}; }`];
    if (isFixed) return rules.join('\n');
    const pad = look.margin;
    rules.push(`
      :root:root { background: ${look.paper} !important; color: ${look.ink}; margin: 0 !important; box-sizing: border-box !important; -webkit-text-size-adjust: 100%;
        min-width: 0 !important; max-width: none !important; writing-mode: ${flow.writingMode} !important; direction: ${flow.direction} !important; }
      :where(html) { line-height: 1.5; font-family: "Iowan Old Style", Palatino, "Palatino Linotype", P052, "Noto Serif", Georgia, serif; }
      body { background: transparent; overflow-wrap: break-word; }
      a:link, a:visited { color: ${look.link}; }
      img, svg, video, object, canvas { max-width: ${flow.isVertical ? `calc(100vw - ${2 * pad}px)` : '100%'} !important; max-height: calc(100vh - ${2 * pad}px) !important; object-fit: contain; box-sizing: border-box; break-inside: avoid; }
      pre { white-space: pre-wrap; }
      h1, h2, h3, h4 { break-after: avoid; }
      p { orphans: 2; widows: 2; }`);
    if (look.size !== 100) rules.push(`:root:root { font-size: ${look.size}% !important; } body { font-size: 1rem !important; }`);
    if (look.spacing) rules.push(`body, p, li, div, blockquote { line-height: ${look.spacing} !important; }`);
    if (look.theme !== 'light') {
      rules.push(`body, body * { color: ${look.ink} !important; background-color: transparent !important; border-color: currentColor !important; }
        body a:link, body a:visited, body a:link * { color: ${look.link} !important; }`);
    }
    const box = `block-size: auto !important; margin-block: 0 !important; margin-inline: auto !important; box-sizing: border-box !important; position: static !important;
      padding-block: 0 !important; padding-inline: ${pad}px !important; max-inline-size: 44rem !important;`;
    const around = `padding-block: ${pad}px !important; padding-inline: 0 !important;`;
    if (isPaged) {
      rules.push(`
        :root:root { width: 100vw !important; height: 100vh !important; max-height: 100vh !important; ${around} overflow: hidden !important; touch-action: pan-y pinch-zoom;
          column-width: auto !important; column-count: ${columns} !important; column-gap: 0 !important; column-fill: auto !important; }
        body { ${box} min-block-size: 0 !important; }
        .carrel-filler { break-before: column; block-size: 1px; visibility: hidden; }`);
    } else {
      rules.push(`:root:root { width: auto !important; height: auto !important; overflow: auto !important; ${around} }
        body { ${box} }`);
    }
    return rules.join('\n');
  };
})();
