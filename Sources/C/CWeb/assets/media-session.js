// SPDX-License-Identifier: Apache-2.0

// Lock screen, headset and keyboard media keys (Media Session).

/**
 * @param {import('./player.js').Player} player
 * @param {{title: string, authors: string[], cover: string|null}} title
 */
export function connectMediaSession(player, title) {
  const session = navigator.mediaSession;
  if (!session) return;
  const handlers = {
    play: () => player.play(),
    pause: () => player.pause(),
    stop: () => player.pause(),
    seekbackward: (/** @type {any} */ details) => player.skip(-(details.seekOffset || 15)),
    seekforward: (/** @type {any} */ details) => player.skip(details.seekOffset || 30),
    seekto: (/** @type {any} */ details) => player.jump(details.seekTime),
    previoustrack: () => (player.chapters.length > 1 ? player.previousChapter() : player.skip(-15)),
    nexttrack: () => (player.chapters.length > 1 ? player.nextChapter() : player.skip(30)),
  };
  for (const [action, handler] of Object.entries(handlers)) {
    try {
      session.setActionHandler(/** @type {MediaSessionAction} */ (action), handler);
    } catch {
      // An action this browser does not know.
    }
  }

  let shown = -2;
  const showTitle = () => {
    const index = player.chapterAt();
    if (index === shown) return;
    shown = index;
    session.metadata = new MediaMetadata({
      title: player.chapters[index]?.title ?? title.title,
      artist: title.authors.join(', '),
      album: title.title,
      artwork: title.cover ? [{ src: new URL(title.cover, location.href).href }] : [],
    });
  };
  const showPosition = () => {
    session.playbackState = player.wanted ? 'playing' : 'paused';
    if (player.duration > 0) {
      session.setPositionState?.({ duration: player.duration, position: player.time, playbackRate: player.speed });
    }
  };
  player.addEventListener('time', showTitle);
  for (const type of ['state', 'jump', 'speed']) player.addEventListener(type, showPosition);
  showTitle();
  showPosition();
}
