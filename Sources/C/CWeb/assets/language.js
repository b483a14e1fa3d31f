// SPDX-License-Identifier: Apache-2.0

// Languages of titles, as files and catalogs write them: “en”, “en_GB”, “eng”, “English”.

const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
/** Codes for no language, or for several. */
const none = ['und', 'mul', 'mis', 'zxx'];

/**
 * The tag for `lang` (BCP 47), with the shortest code of the language: “eng” is “en”.
 *
 * @param {unknown} text
 * @returns {string|null} null for an unknown language: the element then has no `lang`
 */
export function languageTag(text) {
  try {
    const [tag] = Intl.getCanonicalLocales(String(text ?? '').trim().replaceAll('_', '-'));
    const [language] = tag.split('-');
    return names.of(language) && !none.includes(language) ? tag : null;
  } catch {
    return null;
  }
}
