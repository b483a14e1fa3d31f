// SPDX-License-Identifier: Apache-2.0

// The listening page: requests title, playlist and position concurrently, and plays as soon as possible.

import { RequestError, getJSON } from './api.js';
import { showAbout } from './about.js';
import { Bookmarks, accountBookmarks, visitorBookmarks } from './bookmarks.js';
import { connectChapters } from './chapters.js';
import { coverOf } from './cover.js';
import { deviceId } from './device.js';
import { byId, make } from './dom.js';
import { hasMediaSource, waysToPlay } from './engines.js';
import { list } from './format.js';
import { EarlierPlaces } from './history.js';
import { languageTag } from './language.js';
import { keepPlace, placeKey } from './listening.js';
import { connectMediaSession } from './media-session.js';
import { hideNotice, showNotice } from './notice.js';
import { Outbox } from './outbox.js';
import { Player } from './player.js';
import { noticeForError, noticeForItem } from './refusals.js';
import { decide, differs, readLatest, readPlace } from './resume.js';
import { askWhere } from './resume-sheet.js';
import { SegmentSource } from './segments.js';
import { connectShortcuts } from './shortcuts.js';
import { SleepTimer } from './sleep.js';
import { connectSleep } from './sleep-sheet.js';
import { connectSpeed } from './speed-sheet.js';
import { announce, connectStatus } from './status.js';
import { recall } from './store.js';
import { prepareTabs } from './tabs.js';
import { connectTransport } from './transport.js';
import { connectVolume } from './volume-sheet.js';

/** Milliseconds to wait for the place on other devices before starting from this one's. */
const patience = 2000;

const order = decodeURIComponent(location.pathname.split('/')[2] ?? '');
const encoded = encodeURIComponent(order);
const usualPlaylist = `/v1/stream/hls/${encoded}/playlist.m3u8?format=packed`;

const outbox = new Outbox();
const player = new Player(byId('audio'));
/** @type {any} the answer of `GET /v1/shelf/{order}` */
let item = null;

const latest = () => getJSON(`/v2/states/latest/${encoded}`).then(readLatest, () => null);
outbox.flush(); // what an earlier visit could not send

let source = new SegmentSource(usualPlaylist);
const asked = {
  item: getJSON(`/v1/shelf/${encoded}`),
  playlist: hasMediaSource ? source.open() : Promise.resolve(null),
  latest: Promise.race([latest(), new Promise((resolve) => { setTimeout(() => resolve(null), patience); })]),
};
for (const promise of Object.values(asked)) promise.catch(() => {}); // each is awaited below, when its turn comes

connectTransport(player);
connectVolume(player);
const timer = new SleepTimer(player);
connectSleep(player, timer, announce);
player.addEventListener('stopped', (event) => refuse(noticeForError(/** @type {CustomEvent} */ (event).detail, item)));
if (location.hash === '#continue') {
  history.replaceState(null, '', location.pathname);
  player.play();
}
begin();

async function begin() {
  try {
    item = await asked.item;
    showTitle();
    const closed = noticeForItem(item);
    if (closed) {
      showOnlyAbout();
      return refuse(closed);
    }
    const decision = decide({
      here: readPlace(recall(placeKey(order))),
      latest: await asked.latest ?? asLatest(item.position),
      before: readPlace(item.titlePosition),
      deviceId,
      duration: item.title.duration,
    });
    const startOver = decision.finished ? 'You finished this title. Play starts it again.' : '';
    player.describe({ duration: item.title.duration, chapters: item.chapters, streamOffset: item.streamOffset ?? 0 }, decision.start);
    const opened = openPlaylist();
    connectPage(startOver);
    await opened;
    player.load(waysToPlay(player.audio, source, item.nativePlaylist, item.codec));
    if (decision.choices.length > 0) await choose(decision.choices);
  } catch (error) {
    if (!item && error instanceof RequestError && error.kind === 'missing') showMissing();
    refuse(noticeForError(error, item));
  }
}

/** The playlist requested first, or the title's playlist if it differs. */
function openPlaylist() {
  if (!hasMediaSource || !item.playlist || item.playlist === usualPlaylist) return asked.playlist;
  source = new SegmentSource(item.playlist);
  return source.open();
}

/** The shelf's own position, used when the positions could not be loaded. @param {any} position */
function asLatest(position) {
  const place = readPlace(position);
  return place && { ...place, deviceId: null, deviceName: null };
}

function showTitle() {
  const { title } = item;
  document.title = `${title.title} · Carrel`;
  const heading = byId('title');
  const language = languageTag(title.language);
  if (language) heading.lang = language;
  heading.textContent = title.title;
  heading.classList.toggle('is-long', title.title.length > 60);
  byId('subtitle').textContent = title.subtitle ?? '';
  byId('byline').textContent = byline(title);
  byId('cover').replaceChildren(coverOf(title, { eager: true }));
  if (title.cover) byId('backdrop').append(make('img', { src: title.cover, alt: '' }));
  showAbout(item);
}

/** @param {{authors: string[], narrators: string[]}} title */
function byline({ authors, narrators }) {
  const readers = narrators.length > 0 ? `read by ${list(narrators)}` : '';
  const text = [list(authors), readers].filter(Boolean).join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Without a player there is nowhere to jump to. */
function showOnlyAbout() {
  byId('tabs').hidden = true;
  byId('panel-chapters').hidden = true;
  byId('panel-about').hidden = false;
}

function showMissing() {
  document.title = 'Not found · Carrel';
  byId('title').textContent = 'Not found';
  byId('byline').textContent = '';
  byId('contents').hidden = true;
}

/** @param {string} status first words of the status line */
function connectPage(status) {
  const { title } = item;
  const bookmarks = new Bookmarks(player, item.guest ? visitorBookmarks(title.id) : accountBookmarks(encoded), announce);
  const places = new EarlierPlaces(player, encoded);
  connectSpeed(player, title.id);
  connectStatus(player, source);
  connectChapters(player, title.language);
  connectMediaSession(player, title);
  connectShortcuts(player, { bookmark: () => bookmarks.ask(), announce });
  byId('status').textContent = status;
  player.addEventListener('jump', () => { if (byId('status').textContent === status) byId('status').textContent = ''; });

  let bookmarksLoaded = false;
  const select = prepareTabs(byId('tabs'), (panel) => {
    if (panel === 'panel-places') places.load();
    if (panel === 'panel-bookmarks' && !bookmarksLoaded) {
      bookmarksLoaded = true;
      bookmarks.load();
    }
  });
  if (item.chapters.length === 0) {
    byId('tab-chapters').hidden = true;
    select(byId('tab-about'));
  }

  const { lastActive } = keepPlace(player, order, outbox);
  document.addEventListener('visibilitychange', async () => {
    if (document.visibilityState !== 'visible' || player.wanted || !lastActive()) return;
    await outbox.flush();
    const there = await latest();
    if (!there || player.wanted || Number(there.at) < lastActive() || !differs(player.time, there, deviceId)) return;
    choose([
      { kind: 'there', seconds: there.seconds, at: there.at, device: there.deviceName },
      { kind: 'here', seconds: player.time, at: new Date(lastActive()) },
    ]);
  });
}

/** @param {import('./resume.js').Choice[]} choices */
async function choose(choices) {
  player.pause();
  const chosen = await askWhere(player, choices);
  if (!chosen) return;
  player.jump(chosen.seconds);
  player.play();
}

/** @param {import('./refusals.js').Notice} notice */
function refuse(notice) {
  const hadFocus = [byId('player'), byId('dock')].some((part) => part.contains(document.activeElement));
  document.body.classList.add('is-refused');
  byId('player').hidden = true;
  byId('dock').hidden = true;
  showNotice(notice, retry);
  if (hadFocus) byId('notice').querySelector('h2')?.focus();
  if (notice.retryAt) {
    const wait = notice.retryAt.getTime() - Date.now() + 1000;
    if (wait < 86_400_000) setTimeout(retry, Math.max(wait, 1000));
  }
}

function retry() {
  // Once the page is whole, beginning again keeps the place; before that, a reload is the simplest beginning.
  if (player.state !== 'stopped') {
    location.reload();
    return;
  }
  const hadFocus = byId('notice').contains(document.activeElement);
  hideNotice();
  document.body.classList.remove('is-refused');
  byId('player').hidden = false;
  if (hadFocus) byId('play').focus();
  player.retry();
  player.play();
}
