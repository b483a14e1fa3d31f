// SPDX-License-Identifier: Apache-2.0

// What is larger than its view is scrolled before pages turn.

/** How far a key scrolls, as parts of the view: across, and down. */
const steps = {
  ArrowLeft: [-0.5, 0], ArrowRight: [0.5, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15], PageUp: [0, -0.9], PageDown: [0, 0.9],
};

/** Scrolls content that is larger than its view. @param {HTMLElement} view @param {string} key @returns {boolean} whether there was more on that side */
export function scrollByKey(view, key) {
  const [across, down] = steps[key] ?? [0, 0];
  const { scrollLeft: left, scrollTop: top } = view;
  view.scrollBy({ left: across * view.clientWidth, top: down * view.clientHeight, behavior: 'instant' });
  // a part of a pixel is nothing to look at
  return Math.abs(view.scrollLeft - left) >= 1 || Math.abs(view.scrollTop - top) >= 1;
}

/** Whether a view can be scrolled further up (-1) or down (1). @param {HTMLElement} view @param {number} by */
export function hasMore(view, by) {
  return by < 0 ? view.scrollTop >= 1 : view.scrollHeight - view.clientHeight - view.scrollTop >= 1;
}
