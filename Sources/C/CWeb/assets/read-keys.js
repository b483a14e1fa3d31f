// What keys do. Those of one letter or sign can be switched off (WCAG 2.1.4): who dictates, or strikes a key by chance, would call them.

import { byId, make } from './dom.js';

const always = [['← →', 'Turn pages, to that side'], ['Page Up, Page Down', 'Turn pages'], ['Ctrl F', 'Search'], ['Ctrl P', 'Print what is on the screen']];

export class Keys {
  /** @param {{keys: string[], shown: string, text: string, act: () => void}[]} table @param {boolean} isOn @param {(isOn: boolean) => void} changed */
  constructor(table, isOn, changed) {
    this.table = table;
    const box = /** @type {HTMLInputElement} */ (byId('help-on'));
    this.box = box;
    box.checked = isOn;
    box.addEventListener('change', () => changed(box.checked));
    byId('help-keys').append(...[...table.map(({ shown, text }) => [shown, text]), ...always].map(([shown, text]) => make('tr', {},
      make('th', { scope: 'row' }, make('kbd', { text: shown })), make('td', { text }))));
  }

  /** Does what a key of one letter or sign stands for. @param {string} key @returns {boolean} whether it stands for something */
  press(key) {
    const entry = this.box.checked && this.table.find(({ keys }) => keys.includes(key));
    if (entry) entry.act();
    return Boolean(entry);
  }
}
