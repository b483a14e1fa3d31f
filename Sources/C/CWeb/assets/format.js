// SPDX-License-Identifier: Apache-2.0

// Times and dates as people say them.

const locale = navigator.language?.startsWith('en') ? navigator.language : 'en-GB';
const timeOfDay = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
const weekday = new Intl.DateTimeFormat(locale, { weekday: 'long' });
const dayAndMonth = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long' });
const fullDate = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric' });

const minute = 60;
const hour = 3600;
const day = 86_400_000;

/** 3:07 or 1:02:07. @param {number} seconds */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds + 1e-6));
  const h = Math.floor(whole / hour);
  const m = Math.floor(whole / minute) % 60;
  const s = String(whole % 60).padStart(2, '0');
  return h > 0 ? `${h}:${String(m).padStart(2, '0')}:${s}` : `${m}:${s}`;
}

/** 1 hour 2 minutes 7 seconds. @param {number} seconds */
export function spoken(seconds) {
  const whole = Math.max(0, Math.floor(seconds + 1e-6));
  const parts = [];
  for (const [name, unit, modulus] of /** @type {const} */ ([['hour', hour, Infinity], ['minute', minute, 60], ['second', 1, 60]])) {
    const count = Math.floor(whole / unit) % modulus;
    if (count > 0) parts.push(`${count} ${name}${count === 1 ? '' : 's'}`);
  }
  return parts.join(' ') || '0 seconds';
}

/** 7 h 48 min, 12 min, 27 s. @param {number} seconds */
export function length(seconds) {
  if (seconds < minute) return `${Math.max(0, Math.round(seconds))}\u00a0s`;
  const whole = Math.round(seconds / minute);
  const h = Math.floor(whole / 60);
  const m = whole % 60;
  return [h > 0 ? `${h}\u00a0h` : '', m > 0 || h === 0 ? `${m}\u00a0min` : ''].filter(Boolean).join(' ');
}

/** @param {Date} date */
function midnight(date) {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

/** Today at 14:20, yesterday at 14:20, Friday at 14:20, 3 May 2025. @param {Date} date @param {Date} [now] */
export function when(date, now = new Date()) {
  const days = Math.round((midnight(date) - midnight(now)) / day);
  const at = `at ${timeOfDay.format(date)}`;
  if (days === 0) return `today ${at}`;
  if (days === -1) return `yesterday ${at}`;
  if (days === 1) return `tomorrow ${at}`;
  if (Math.abs(days) < 7) return `${weekday.format(date)} ${at}`;
  if (date.getFullYear() === now.getFullYear()) return dayAndMonth.format(date);
  return fullDate.format(date);
}

/** 3 May 2025. @param {Date} date */
export const calendarDay = (date) => fullDate.format(date);

/** 1.2 MB, 300 KB. @param {number} bytes */
export function fileSize(bytes) {
  if (bytes < 1e6) return `${Math.max(1, Math.round(bytes / 1e3))}\u00a0KB`;
  const megabytes = bytes / 1e6;
  return megabytes < 1000 ? `${megabytes < 10 ? megabytes.toFixed(1) : Math.round(megabytes)}\u00a0MB` : `${(megabytes / 1000).toFixed(1)}\u00a0GB`;
}

/** How long until then: in 3 days, in 5 hours, in a few minutes. @param {Date} date @param {Date} [now] */
export function until(date, now = new Date()) {
  const minutes = (date.getTime() - now.getTime()) / 60_000;
  if (minutes < 1) return 'now';
  if (minutes < 90) return `in ${Math.round(minutes)} minute${Math.round(minutes) === 1 ? '' : 's'}`;
  if (minutes < 36 * 60) return `in ${Math.round(minutes / 60)} hours`;
  return `in ${Math.round(minutes / 60 / 24)} days`;
}

/** A, B and C. @param {string[]} names */
export function list(names) {
  if (names.length < 2) return names[0] ?? '';
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** 1×, 1.25×. @param {number} value */
export function speed(value) {
  return `${Number(value.toFixed(2))}×`;
}
