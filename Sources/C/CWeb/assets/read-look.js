// SPDX-License-Identifier: Apache-2.0

// The appearance of pages: theme, size, spacing, paged or scrolled. Stored on the server, not in the browser.

import { byId } from './dom.js';
import { tell } from './read-api.js';

const themes = {
  light: { paper: '#fffdf9', ink: '#211e19', link: '#1f5c4b', marks: { yellow: '#fbe38a', green: '#c4e8b5', blue: '#bfdcf5', pink: '#f8c9d8' } },
  sepia: { paper: '#f4e8d2', ink: '#3d2f1c', link: '#7a3e0c', marks: { yellow: '#f0d27a', green: '#c9d9a0', blue: '#b9d0d6', pink: '#ecc0b4' } },
  dark: { paper: '#151411', ink: '#e3ddd1', link: '#8fd0b4', marks: { yellow: '#6b5a17', green: '#2f5a33', blue: '#264d6e', pink: '#6d2f48' } },
};
const fits = { page: 'Whole page', width: 'Fit to width', actual: 'Actual size' };
const sizes = [70, 80, 90, 100, 115, 130, 150, 175, 200, 250];

export class Look {
  /** @param {any} kept @param {() => void} changed */
  constructor(kept, changed) {
    this.theme = ['auto', 'light', 'sepia', 'dark'].includes(kept?.theme) ? kept.theme : 'auto';
    this.size = sizes.includes(kept?.size) ? kept.size : 100;
    this.spacing = [0, 1.4, 1.7, 2].includes(kept?.spacing) ? kept.spacing : 0;
    this.mode = kept?.mode === 'scroll' ? 'scroll' : 'pages';
    /** How large pictures are. */
    this.fit = Object.hasOwn(fits, kept?.fit ?? '') ? kept.fit : 'page';
    /** Whether single-letter shortcuts are enabled. */
    this.hasKeys = kept?.keys !== false;
    this.changed = changed;
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.dark.addEventListener('change', () => this.apply());
    addEventListener('resize', () => { if (this.columns() !== this.lastColumns || this.margin() !== this.lastMargin) this.apply(); });
    const form = /** @type {HTMLFormElement} */ (byId('look-form'));
    form.addEventListener('change', () => {
      const data = new FormData(form);
      this.theme = String(data.get('theme'));
      this.mode = String(data.get('mode'));
      this.spacing = Number(data.get('spacing'));
      this.fit = String(data.get('fit'));
      this.keep();
    });
    byId('smaller').addEventListener('click', () => this.resize(-1));
    byId('larger').addEventListener('click', () => this.resize(1));
    this.saving = 0;
    addEventListener('pagehide', () => this.save(true));
    this.apply(false);
  }

  useKeys(isOn) {
    this.hasKeys = isOn;
    this.keep();
  }

  resize(by) {
    const size = sizes[sizes.indexOf(this.size) + by];
    if (!size) return;
    this.size = size;
    this.keep();
  }

  /** Switches to the next size of pictures. @returns {string} its name */
  nextFit() {
    const names = Object.keys(fits);
    this.fit = names[(names.indexOf(this.fit) + 1) % names.length];
    this.keep();
    return fits[this.fit];
  }

  keep() {
    this.apply();
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(), 300);
  }

  /** @param {boolean} [isLast] the page is about to go */
  save(isLast = false) {
    if (!this.saving) return;
    clearTimeout(this.saving);
    this.saving = 0;
    tell('preferences', 'PUT', { theme: this.theme, size: this.size, spacing: this.spacing, mode: this.mode, fit: this.fit, keys: this.hasKeys }, isLast).catch(() => {});
  }

  columns() { return byId('stage').clientWidth >= 1100 ? 2 : 1; }

  margin() { return innerWidth < 600 ? 20 : 40; }

  /** The settings sent to a document. */
  get values() {
    const theme = this.theme === 'auto' ? (this.dark.matches ? 'dark' : 'light') : this.theme;
    this.lastColumns = this.columns();
    this.lastMargin = this.margin();
    return { mode: this.mode, size: this.size, spacing: this.spacing, theme, ...themes[theme], columns: this.lastColumns, margin: this.lastMargin };
  }

  apply(isChange = true) {
    const { theme } = this.values;
    document.documentElement.dataset.theme = theme;
    const form = /** @type {HTMLFormElement} */ (byId('look-form'));
    for (const [name, value] of [['theme', this.theme], ['mode', this.mode], ['spacing', String(this.spacing)], ['fit', this.fit]]) {
      const choice = form.querySelector(`input[name="${name}"][value="${value}"]`);
      if (choice instanceof HTMLInputElement) choice.checked = true;
    }
    byId('size').textContent = `${this.size} %`;
    if (isChange) this.changed();
  }
}
