// SPDX-License-Identifier: Apache-2.0

// Tabs as the ARIA Authoring Practices describe them: arrow keys move, the panel follows.

/**
 * @param {HTMLElement} list
 * @param {(panel: string) => void} shown called with the id of the panel that came to the front
 * @returns {(tab: HTMLElement) => void} shows the panel of a tab
 */
export function prepareTabs(list, shown) {
  const tabs = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('[role=tab]')]);
  const select = (/** @type {HTMLElement} */ chosen) => {
    for (const tab of tabs) {
      const selected = tab === chosen;
      tab.setAttribute('aria-selected', String(selected));
      tab.tabIndex = selected ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute('aria-controls') ?? '');
      if (panel) panel.hidden = !selected;
    }
    shown(chosen.getAttribute('aria-controls') ?? '');
  };
  for (const tab of tabs) tab.addEventListener('click', () => select(tab));
  list.addEventListener('keydown', (event) => {
    const visible = tabs.filter((tab) => !tab.hidden);
    const at = visible.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: visible.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const tab = visible[(next + visible.length) % visible.length];
    tab.focus();
    select(tab);
  });
  return select;
}
