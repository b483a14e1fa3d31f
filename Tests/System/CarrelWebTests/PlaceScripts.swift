// SPDX-License-Identifier: Apache-2.0

/// positions.js, outbox.js, resume.js, history.js
let placeScripts: [(name: String, source: String)] = [
    (
        "listening is cut every five seconds into intervals that abut",
        """
        const { ListeningLog } = await import('/assets/positions.js');
        const sent = [];
        let now = Date.parse('2026-05-04T10:00:00.000Z');
        const log = new ListeningLog({ id: 'o', deviceId: 'd', deviceName: 'n' }, (interval) => sent.push(interval), () => now);
        log.begin(100.25, 1.5);
        for (let second = 1; second <= 25; second++) { now += 1000; log.tick(100.25 + second * 1.5); }
        log.end(137.75);
        log.end(137.75);
        equal(sent.length, 5);
        equal(sent[0], { id: 'o', startUtc: '2026-05-04T10:00:00.000Z', endUtc: '2026-05-04T10:00:05.000Z', startPosition: 100, endPosition: 107,
          positionMs: 107750, speed: 1.5, deviceId: 'd', deviceName: 'n' });
        for (let i = 1; i < 5; i++) equal([sent[i].startUtc, sent[i].startPosition], [sent[i - 1].endUtc, sent[i - 1].endPosition]);
        equal([sent[4].endUtc, sent[4].positionMs], ['2026-05-04T10:00:25.000Z', 137750]);
        """
    ),
    (
        "a crumb is not written, a place without playing is, and a clock set back harms nothing",
        """
        const { ListeningLog } = await import('/assets/positions.js');
        const sent = [];
        let now = 1_000_000;
        const log = new ListeningLog({ id: 'o', deviceId: 'd', deviceName: 'n' }, (interval) => sent.push(interval), () => now);
        log.begin(5, 1); now += 100; log.end(5.1);
        equal(sent.length, 0);
        log.mark(77.9);
        equal([sent[0].startUtc, sent[0].startPosition, sent[0].endPosition, sent[0].positionMs], [sent[0].endUtc, 77, 77, 77900]);
        log.begin(5, 1); now -= 60_000; log.end(9);
        check(sent.every((interval) => interval.startUtc <= interval.endUtc));
        """
    ),
    (
        "the outbox keeps intervals until the server has them, across visits",
        """
        const { Outbox } = await import('/assets/outbox.js');
        localStorage.clear();
        const interval = (n) => ({ id: 'o', startUtc: `${n}`, endUtc: `${n}`, startPosition: n, endPosition: n });
        const real = window.fetch;
        let answer = () => Promise.reject(new TypeError('offline'));
        const bodies = [];
        window.fetch = (path, init) => { bodies.push(JSON.parse(init.body)); return answer(); };
        const json = (status, body) => () => Promise.resolve(new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } }));
        try {
          const first = new Outbox();
          for (let n = 0; n < 150; n++) first.add(interval(n));
          await first.flush();
          check(!first.isEmpty, 'kept while offline');
          answer = json(503, {});
          await first.flush();
          answer = json(401, {});
          await first.flush();
          check(!first.isEmpty, 'kept while busy or signed out');
          bodies.length = 0;
          const second = new Outbox(); // the next visit
          answer = json(200, { accepted: 99, duplicates: 0, rejected: [{ index: 3, code: 'x' }] });
          await second.flush();
          equal(bodies.map((body) => body.length), [100, 50]);
          equal(bodies.flat().map((sent) => sent.startPosition), [...Array(150).keys()]);
          check(second.isEmpty && new Outbox().isEmpty, 'nothing is left');
          second.add(interval(1));
          answer = json(400, {});
          await second.flush();
          check(second.isEmpty, 'a report that the server will never take is dropped');
        } finally {
          window.fetch = real;
        }
        """
    ),
    (
        "where to start: the newest place, and the listener's choice when devices disagree",
        """
        const { decide } = await import('/assets/resume.js');
        const place = (seconds, minute, deviceId) => ({ seconds, at: new Date(Date.UTC(2026, 0, 1, 10, minute)), deviceId, deviceName: deviceId });
        const at = (known) => {
          const { start, finished, choices } = decide({ here: null, latest: null, before: null, deviceId: 'me', duration: 1000, ...known });
          return [start, finished, choices.map((choice) => `${choice.kind} ${choice.seconds}`)];
        };
        equal(at({}), [0, false, []]);
        equal(at({ latest: place(300, 0, 'phone') }), [300, false, []]);
        equal(at({ here: place(200, 0) }), [200, false, []]);
        equal(at({ here: place(200, 5), latest: place(100, 0, 'me') }), [200, false, []]);
        equal(at({ here: place(200, 0), latest: place(300, 5, 'me') }), [300, false, []]);
        equal(at({ here: place(200, 0), latest: place(229, 5, 'phone') }), [229, false, []]);
        equal(at({ here: place(200, 0), latest: place(231, 5, 'phone') }), [200, false, ['there 231', 'here 200']]);
        equal(at({ here: place(200, 0), latest: place(100, 5, 'phone') }), [200, false, ['there 100', 'here 200']]);
        equal(at({ here: place(200, 5), latest: place(100, 0, 'phone') }), [200, false, []]);
        equal(at({ here: place(200, 0), latest: place(100, 5, null) }), [200, false, ['there 100', 'here 200']]);
        equal(at({ latest: place(997, 0, 'phone') }), [0, true, []]);
        equal(at({ before: place(400, 0) }), [400, false, ['before 400', 'beginning 0']]);
        equal(at({ before: place(10, 0) }), [0, false, []]);
        equal(at({ before: place(400, 0), latest: place(50, 5, 'phone') }), [50, false, []]);
        """
    ),
    (
        "answers about places are read strictly",
        """
        const { readLatest, readPlace } = await import('/assets/resume.js');
        equal(readLatest(null), null);
        equal(readLatest({ Position: 'x' }), null);
        const latest = readLatest({ Position: 12, PositionMs: 12345, LastUpdated: '2026-01-01T00:00:00.000Z', DeviceId: 'd' });
        equal([latest.seconds, latest.at.getTime(), latest.deviceId, latest.deviceName], [12.345, Date.UTC(2026, 0, 1), 'd', null]);
        equal(readLatest({ Position: 12, LastUpdated: '2026-01-01T00:00:00Z' }).seconds, 12);
        equal(readPlace({ seconds: 3.5, lastUpdated: '2026-01-01T00:00:00Z' }).at.getTime(), Date.UTC(2026, 0, 1));
        equal(readPlace({}), null);
        """
    ),
    (
        "earlier places join what was heard in one go, newest first",
        """
        const { stretches } = await import('/assets/history.js');
        const utc = (second) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
        const interval = (from, to, start, end, deviceId) => ({ startUtc: utc(from), endUtc: utc(to), startPosition: start, endPosition: end, deviceId, deviceName: deviceId });
        const list = stretches([
          interval(20, 30, 120, 130, 'a'), interval(0, 10, 100, 110, 'a'), interval(10, 20, 110, 120, 'a'), // one go, in any order
          interval(40, 50, 500, 510, 'a'), // after a jump
          interval(60, 60, 900, 900, 'a'), // a place without listening
          interval(61, 63, 900, 902, 'a'), // too short to list
          interval(400, 410, 510, 520, 'b'), // another device
          interval(1000, 1010, 520, 530, 'b'), // after a long pause
        ]);
        equal(list.map(({ start, end, device }) => [start, end, device]), [[520, 530, 'b'], [510, 520, 'b'], [500, 510, 'a'], [100, 130, 'a']]);
        equal(stretches([]), []);
        """
    ),
    (
        "earlier places go back behind a long night",
        """
        const { EarlierPlaces } = await import('/assets/history.js');
        document.body.innerHTML = '<div id="panel-places"></div>';
        const utc = (second) => new Date(Date.UTC(2026, 0, 2) + second * 1000).toISOString();
        const interval = (from, start) => ({ startUtc: utc(from), endUtc: utc(from + 10), startPosition: start, endPosition: start + 10 });
        const night = Array.from({ length: 3000 }, (_, n) => interval(n * 10, n * 10)).reverse();
        const all = [...night, interval(-50_000, 5000)];
        const real = window.fetch;
        const asked = [];
        window.fetch = async (path) => {
          asked.push(path);
          const at = Number(new URL(path, location.href).searchParams.get('after') ?? 0);
          const page = { intervals: all.slice(at, at + 1000), ...(at + 1000 < all.length ? { next: `${at + 1000}` } : {}) };
          return new Response(JSON.stringify(page), { headers: { 'Content-Type': 'application/json' } });
        };
        try {
          const player = { chapters: [], chapterAt: () => -1 };
          await new EarlierPlaces(player, 'o').load();
          equal(asked.length, 4);
          const rows = [...document.querySelectorAll('#panel-places li .row-title')].map((row) => row.textContent);
          equal(rows, ['8:20:00', '1:23:30']);
        } finally {
          window.fetch = real;
          document.body.innerHTML = '';
        }
        """
    ),
    (
        "a visitor's bookmarks stay in the browser",
        """
        const { visitorBookmarks } = await import('/assets/bookmarks.js');
        localStorage.clear();
        const shelf = visitorBookmarks('title');
        equal(await shelf.list(), []);
        const first = await shelf.add(12.5, 'here');
        await shelf.add(99, null);
        equal((await visitorBookmarks('title').list()).map(({ seconds, note }) => [seconds, note]), [[12.5, 'here'], [99, null]]);
        equal(await visitorBookmarks('another').list(), []);
        await shelf.remove(first.id);
        equal((await shelf.list()).map(({ seconds }) => seconds), [99]);
        const { forgetReader } = await import('/assets/store.js');
        forgetReader();
        equal(await shelf.list(), []);
        """
    ),
    (
        "bookmarks stay as they were changed, and can be put back, whenever the list comes",
        """
        const { Bookmarks } = await import('/assets/bookmarks.js');
        for (const [tag, id] of [['div', 'panel-bookmarks'], ['dialog', 'bookmark-sheet'], ['button', 'bookmark-open'], ['form', 'bookmark-form'],
          ['p', 'bookmark-place'], ['textarea', 'bookmark-note'], ['p', 'status']]) document.body.append(Object.assign(document.createElement(tag), { id }));
        const panel = document.getElementById('panel-bookmarks');
        const kept = (id) => ({ id, seconds: id.charCodeAt(0), note: id, createdAt: '2026-01-01T00:00:00Z' });
        const lists = [];
        const player = { time: 100, chapters: [], chapterAt: () => -1, playFrom() {} };
        const shelf = {
          list: () => new Promise((resolve, reject) => lists.push({ give: (...ids) => resolve(ids.map(kept)), fail: () => reject(new Error('down')) })),
          add: async (seconds, note) => ({ ...kept(note), seconds }),
          remove: async () => {},
        };
        const moment = () => new Promise((done) => setTimeout(done, 5));
        const add = async (note) => {
          document.getElementById('bookmark-note').value = note;
          document.getElementById('bookmark-form').dispatchEvent(new Event('submit'));
          await moment();
        };
        const remove = async (at) => { panel.querySelectorAll('[aria-label^=Remove]')[at].click(); await moment(); };
        const rows = () => [...panel.querySelectorAll('li .row-title')].map((row) => row.textContent);
        const bookmarks = new Bookmarks(player, shelf, () => {});

        // added while the list is on its way
        bookmarks.load();
        await add('x');
        lists[0].give('a', 'b');
        await moment();
        equal([rows(), lists.length], [['x', 'a', 'b'], 1]);

        // removed and added while another list is on its way, which does not know it
        bookmarks.load();
        await remove(1);
        equal([rows(), panel.querySelector('.undo button')?.textContent], [['x', 'b'], 'Restore']);
        check(document.activeElement === panel.querySelector('.undo button'));
        await lists[1].give('a', 'b', 'x');
        await moment();
        equal([rows(), panel.querySelector('.undo button')?.textContent], [['b', 'x'], 'Restore']);
        panel.querySelector('.undo button').click();
        await moment();
        equal([rows(), panel.querySelector('.undo')], [['a', 'b', 'x'], null]);

        // a list that does not come takes nothing away that is known
        bookmarks.load();
        await remove(1);
        lists[2].fail();
        await moment();
        equal([rows(), panel.querySelector('.undo button')?.textContent], [['a', 'x'], 'Restore']);

        // an added bookmark is not a complete list
        const other = new Bookmarks(player, shelf, () => {});
        other.load();
        lists[3].fail();
        await moment();
        check(panel.textContent.includes('could not be loaded'));
        panel.querySelector('button').click();
        lists[4].give('c');
        await moment();
        equal(rows(), ['c']);
        """
    ),
    (
        "a browser without a way to play is told so, however often it tries again",
        """
        const { Player } = await import('/assets/player.js');
        const { noticeForError } = await import('/assets/refusals.js');
        const player = new Player(new Audio());
        const errors = [];
        player.addEventListener('stopped', (event) => errors.push(event.detail));
        player.load([]);
        player.retry();
        player.play();
        equal([player.state, errors.length], ['stopped', 2]);
        equal(noticeForError(errors[0], null).retry ?? false, false);
        """
    ),
]
