// SPDX-License-Identifier: Apache-2.0

// One request at a time: a newer request cancels the previous one, so that an older response or error never replaces a newer one.

/**
 * Each view that fetches as a person types or presses has one of these.
 *
 * @returns {<T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T|undefined>} runs `work`, whose requests end with the signal when it
 *   is called again; undefined when that happened, and then nothing is thrown either
 */
export function newest() {
  let current = new AbortController();
  return async (work) => {
    current.abort();
    const mine = current = new AbortController();
    try {
      const answer = await work(mine.signal);
      return mine.signal.aborted ? undefined : answer;
    } catch (error) {
      if (mine.signal.aborted) return undefined;
      throw error;
    }
  };
}
