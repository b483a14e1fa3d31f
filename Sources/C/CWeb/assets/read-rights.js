// Copying and printing go through the rights of the publication: the server counts, and a request that is sent twice counts once.

/** @param {string} base @param {string} right @param {any} values */
async function consume(base, right, values) {
  const response = await fetch(`${base}rights/${right}`, {
    method: 'POST',
    credentials: 'omit',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...values, requestId: crypto.randomUUID() }),
  });
  if (response.status === 403) return false;
  if (!response.ok) throw new Error(`the reader's server answers ${response.status}`);
  return true;
}

/** @param {import('./read-book.js').Book} book @param {string} text */
export async function copy(book, text, say) {
  if (!text.trim()) return;
  try {
    if (!(await consume(book.protection, 'copy', { text }))) return say('This text may not be copied: the publisher’s limit is reached, or there is none to use.');
    // the focus is in the frame, and only the page with the focus may write
    focus();
    await navigator.clipboard.writeText(text);
    say('Copied.');
  } catch (error) {
    say(`Not copied: ${error instanceof Error ? error.message : error}`);
  }
}

/** Prints what is on the screen. @param {import('./read-book.js').Book} book @param {number} pageCount */
export async function print(book, pageCount, say) {
  try {
    if (!(await consume(book.protection, 'print', { pageCount }))) return say('This page may not be printed: the publisher’s limit is reached, or there is none to use.');
  } catch (error) {
    return say(`Not printed: ${error instanceof Error ? error.message : error}`);
  }
  document.documentElement.classList.add('may-print');
  addEventListener('afterprint', () => document.documentElement.classList.remove('may-print'), { once: true });
  window.print();
}
