// SPDX-License-Identifier: Apache-2.0

// Copying and printing go through the rights of the publication: the server counts, and a request that is sent twice counts once.

/** The text whose copy was counted, or perhaps was, and that has not reached the clipboard. */
let copying = { text: '', requestId: '' };

const paper = new CSSStyleSheet();

/** @param {string} base @param {string} right @param {any} values */
async function consume(base, right, values) {
  const response = await fetch(`${base}rights/${right}`, {
    method: 'POST',
    credentials: 'omit',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(values),
  });
  if (response.status === 403) return false;
  if (!response.ok) throw new Error(`the reader's server responded with status ${response.status}`);
  return true;
}

/** @param {import('./read-book.js').Book} book @param {string} text */
export async function copy(book, text, say) {
  if (!text.trim()) return;
  try {
    if (copying.text !== text) copying = { text, requestId: crypto.randomUUID() };
    if (!(await consume(book.protection, 'copy', copying))) {
      copying = { text: '', requestId: '' };
      return say('This text may not be copied: the publisher’s limit is reached, or copying is not allowed.');
    }
    // the focus is in the frame, and only the page with the focus may write
    focus();
    await navigator.clipboard.writeText(text);
    copying = { text: '', requestId: '' };
    say('Copied.');
  } catch (error) {
    say(`Not copied: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * Prints the visible pages.
 * @param {import('./read-book.js').Book} book
 * @param {number} pageCount
 * @param {(isOn: boolean) => Promise<void>} show lets the document show its print layout
 * @param {{width: number, height: number}} size of the paper
 */
export async function print(book, pageCount, say, show, { width, height }) {
  try {
    if (!(await consume(book.protection, 'print', { pageCount, requestId: crypto.randomUUID() }))) return say('This page may not be printed: the publisher’s limit is reached, or printing is not allowed.');
  } catch (error) {
    return say(`Not printed: ${error instanceof Error ? error.message : error}`);
  }
  await show(true);
  paper.replaceSync(`@page { size: ${width}px ${height}px; margin: 0; } @media print { .stage { width: ${width}px !important; height: ${height}px !important; } }`);
  if (!document.adoptedStyleSheets.includes(paper)) document.adoptedStyleSheets.push(paper);
  document.documentElement.classList.add('may-print');
  addEventListener('afterprint', () => { document.documentElement.classList.remove('may-print'); show(false); }, { once: true });
  window.print();
}
