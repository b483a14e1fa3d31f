// SPDX-License-Identifier: Apache-2.0

// A machine without speaker and headphones: Firefox then plays nothing but silence, and says so only in the text of its error.

/** The message for the user. */
export const noOutput = { heading: 'No sound output', text: 'This browser finds no speaker or headphones to play through. Connect one, then try again.' };

/** Whether a media element failed for want of something to play through. @param {unknown} error a `MediaError`, or what took its place */
export const lacksOutput = (error) => /mediasink/i.test(/** @type {any} */ (error)?.message ?? '');
