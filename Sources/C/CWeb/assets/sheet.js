// SPDX-License-Identifier: Apache-2.0

// Sheets: modal dialogs that close with Escape, their close button, or a press outside them.

/**
 * @param {HTMLDialogElement} dialog
 * @param {{dismissible?: boolean}} [options] whether a press outside closes it
 */
export function prepareSheet(dialog, { dismissible = true } = {}) {
  for (const button of dialog.querySelectorAll('[data-close]')) button.addEventListener('click', () => dialog.close());
  if (!dismissible) return;
  let pressedBeside = false;
  dialog.addEventListener('pointerdown', (event) => { pressedBeside = isBeside(dialog, event); });
  dialog.addEventListener('click', (event) => {
    if (pressedBeside && isBeside(dialog, event)) dialog.close();
  });
}

/** @param {HTMLDialogElement} dialog @param {MouseEvent} event */
function isBeside(dialog, event) {
  if (event.target !== dialog) return false;
  const box = dialog.getBoundingClientRect();
  return event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom;
}

/** @param {HTMLDialogElement} dialog */
export function openSheet(dialog) {
  if (!dialog.open) dialog.showModal();
}
