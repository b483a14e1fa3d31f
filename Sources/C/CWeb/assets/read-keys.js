// SPDX-License-Identifier: Apache-2.0

// Keyboard shortcuts. Shortcuts of one letter or sign can be switched off (WCAG 2.1.4): dictation, or a key struck by accident,
// would trigger them.

import { byId, make } from './dom.js';

const always = [
  { shown: '← →', text: 'Turn pages, to that side' }, { shown: 'Page Up, Page Down, Space', text: 'Turn pages' },
  { shown: 'Ctrl F', text: 'Search', of: 'document' }, { shown: 'Ctrl P', text: 'Print what is on the screen' },
];

export class Keys {
  /**
   * @param {{keys: string[], shown: string, text: string, of?: string, act: () => void}[]} table `of` a kind of content: elsewhere the key does nothing
   * @param {boolean} isOn
   * @param {(isOn: boolean) => void} changed
   */
  constructor(table, isOn, changed) {
    this.table = table;
    const box = /** @type {HTMLInputElement} */ (byId('help-on'));
    this.box = box;
    box.checked = isOn;
    box.addEventListener('change', () => changed(box.checked));
    byId('help-keys').append(...[...table, ...always].map(({ shown, text, of }) => make('tr', { 'data-of': of },
      make('th', { scope: 'row' }, make('kbd', { text: shown })), make('td', { text }))));
  }

  /** Runs the shortcut of one letter or sign. @param {string} key @returns {boolean} whether there is one */
  press(key) {
    const { kind } = document.documentElement.dataset;
    const entry = this.box.checked && this.table.find(({ keys, of }) => keys.includes(key) && (!of || of === kind));
    if (entry) entry.act();
    return Boolean(entry);
  }
}
