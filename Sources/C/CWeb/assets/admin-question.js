// SPDX-License-Identifier: Apache-2.0

// The only dialog: confirms irreversible actions, and prompts for a word if needed.

import { byId } from './dom.js';

/**
 * @typedef {{label: string, value?: string, mustBe?: string, maxlength?: number}} Answer
 *   mustBe: the only text with which the answer is yes
 */

/**
 * @param {string} text @param {string} verb the label of the confirming button
 * @param {Answer} [answer] a text to type
 * @returns {Promise<string|false>} false for no; the text typed, or “yes” if none is requested
 */
function question(text, verb, answer) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('question'));
  const yes = /** @type {HTMLButtonElement} */ (byId('question-yes'));
  const input = /** @type {HTMLInputElement} */ (byId('question-answer'));
  byId('question-text').textContent = text;
  yes.textContent = verb;
  yes.classList.toggle('button-danger', answer === undefined || answer.mustBe !== undefined);
  byId('question-field').hidden = !answer;
  input.disabled = !answer;
  byId('question-label').textContent = answer?.label ?? '';
  input.value = answer?.value ?? '';
  input.maxLength = answer?.maxlength ?? 256;
  const check = () => { yes.disabled = answer !== undefined && (answer.mustBe === undefined ? !input.value.trim() : input.value !== answer.mustBe); };
  input.oninput = check;
  check();
  dialog.returnValue = 'no';
  byId('question-no').onclick = () => dialog.close('no');
  dialog.showModal();
  // Enter alone means no.
  (answer ? input : byId('question-no')).focus();
  if (answer?.value) input.select();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes' && (answer ? input.value : 'yes')), { once: true });
  });
}

/** Asks before something that cannot be undone. @param {string} text @param {string} verb @returns {Promise<boolean>} */
export async function ask(text, verb) {
  return await question(text, verb) !== false;
}

/** The same, but a name must be typed for confirmation. @param {string} text @param {string} verb @param {string} name @returns {Promise<boolean>} */
export async function askForName(text, verb, name) {
  return await question(text, verb, { label: `Type ${name} to confirm`, mustBe: name }) !== false;
}

/** Asks for a text. @param {string} text @param {string} verb @param {string} label @param {string} value @param {number} maxlength @returns {Promise<string|false>} */
export async function askForText(text, verb, label, value, maxlength) {
  return question(text, verb, { label, value, maxlength });
}
