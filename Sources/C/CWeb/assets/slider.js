// SPDX-License-Identifier: Apache-2.0

// A range input over seconds: shows a moving value until someone takes hold of it, previews while it is dragged, commits once.

const keys = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

export class Slider {
  #input;
  #say;
  #commit;
  #held = false;
  #said = -Infinity;

  /**
   * @param {HTMLInputElement} input
   * @param {object} options
   * @param {number} options.step seconds of an arrow key; Page Up and Page Down go ten times as far
   * @param {(value: number) => string} options.say the value in words, for screen readers
   * @param {(value: number) => void} options.preview while it is dragged
   * @param {(value: number) => void} options.commit
   */
  constructor(input, { step, say, preview, commit }) {
    this.#input = input;
    this.#say = say;
    this.#commit = commit;
    input.addEventListener('input', () => {
      this.#held = true;
      this.#paint(true);
      preview(input.valueAsNumber);
    });
    input.addEventListener('change', () => this.#release());
    input.addEventListener('pointercancel', () => { this.#held = false; });
    input.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const steps = keys[event.key];
      const target = event.key === 'Home' ? 0 : event.key === 'End' ? Number(input.max) : steps ? input.valueAsNumber + steps * step : null;
      if (target === null) return;
      event.preventDefault();
      input.valueAsNumber = target;
      this.#release();
    });
  }

  #release() {
    this.#held = false;
    this.#paint(true);
    this.#commit(this.#input.valueAsNumber);
  }

  /** Whether someone is dragging it. */
  get held() {
    return this.#held;
  }

  /** @param {number} value @param {number} max */
  show(value, max) {
    const input = this.#input;
    input.disabled = max <= 0;
    if (this.#held) return;
    if (Number(input.max) !== max) input.max = String(max);
    input.valueAsNumber = Math.min(Math.max(value, 0), max);
    this.#paint(false);
  }

  /** @param {boolean} now also when the words were just said */
  #paint(now) {
    const input = this.#input;
    const value = input.valueAsNumber;
    const max = Number(input.max);
    input.style.setProperty('--fill', `${max > 0 ? value / max * 100 : 0}%`);
    // A screen reader repeats every change of a focused slider: while the clock runs, once in ten seconds is enough.
    if (!now && document.activeElement === input && Math.abs(value - this.#said) < 10) return;
    this.#said = value;
    input.setAttribute('aria-valuetext', this.#say(value));
  }
}
