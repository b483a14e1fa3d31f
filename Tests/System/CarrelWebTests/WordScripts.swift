// SPDX-License-Identifier: Apache-2.0

/// format.js, refusals.js, device.js: what the pages say.
let wordScripts: [(name: String, source: String)] = [
    (
        "times are said as people say them",
        """
        const { clock, length, list, speed, spoken } = await import('/assets/format.js');
        equal([0, 59.99, 60, 3599, 3600, 72000.4, -3].map(clock), ['0:00', '0:59', '1:00', '59:59', '1:00:00', '20:00:00', '0:00']);
        equal([0, 1, 61, 3600, 7384].map(spoken),
          ['0 seconds', '1 second', '1 minute 1 second', '1 hour', '2 hours 3 minutes 4 seconds']);
        equal([0, 27, 60, 90, 3600, 3570, 28080].map(length).map((text) => text.replaceAll('\\u00a0', ' ')),
          ['0 s', '27 s', '1 min', '2 min', '1 h', '1 h', '7 h 48 min']);
        equal([1, 1.25, 0.5, 2.05].map(speed), ['1×', '1.25×', '0.5×', '2.05×']);
        equal([[], ['A'], ['A', 'B'], ['A', 'B', 'C']].map(list), ['', 'A', 'A and B', 'A, B and C']);
        """
    ),
    (
        "dates are said from today's point of view",
        """
        const { until, when } = await import('/assets/format.js');
        const now = new Date(2026, 4, 15, 12, 0);
        const said = (...parts) => when(new Date(...parts), now);
        check(said(2026, 4, 15, 9, 5).startsWith('today at '));
        check(said(2026, 4, 14, 23, 59).startsWith('yesterday at '));
        check(said(2026, 4, 16, 0, 1).startsWith('tomorrow at '));
        check(said(2026, 4, 12, 9, 0).startsWith('Tuesday at '));
        check(!/2026|at/.test(said(2026, 0, 3)) && said(2026, 0, 3).includes('January'));
        check(said(2025, 0, 3).includes('2025'));
        const later = (minutes) => until(new Date(now.getTime() + minutes * 60_000), now);
        equal([0, 1, 45, 120, 60 * 30, 60 * 24 * 3].map(later),
          ['now', 'in 1 minute', 'in 45 minutes', 'in 2 hours', 'in 30 hours', 'in 3 days']);
        """
    ),
    (
        "every refusal says what happened and what to do",
        """
        const { RequestError } = await import('/assets/api.js');
        const { noticeForError, noticeForItem } = await import('/assets/refusals.js');
        const item = { state: 'active', kind: 'loan', startsAt: null, endsAt: null };
        const refusal = (reason, extra = {}, after = null) =>
          noticeForError(new RequestError('refused', 'no', { status: 403, problem: { reason, ...extra }, retryAfter: after }), item);
        for (const reason of ['expired', 'revoked', 'returned', 'not-started', 'concurrency', 'cancelled', 'ticket', 'something-new']) {
          const { heading, text, icon } = refusal(reason);
          check(heading.length > 5 && text.length > 20 && icon, reason);
        }
        check(refusal('expired', { endedAt: new Date().toISOString() }).text.includes('today at'));
        check(refusal('concurrency', { limit: '1' }, 130).text.includes('1 device at a time') && refusal('concurrency', {}, 130).text.includes('3 minutes'));
        check(refusal('concurrency').retry && refusal('not-started').retry && !refusal('expired').retry);
        check(noticeForError(new RequestError('signed-out', 'x'), item).text.includes('link'));
        check(noticeForError(new Error('decode'), item).retry);
        equal(noticeForItem(item), null);
        equal(noticeForItem({ ...item, endsAt: '2020-01-01T00:00:00Z' }).heading, 'This loan has ended');
        equal(noticeForItem({ ...item, startsAt: '2999-01-01T00:00:00Z' }).heading, 'This loan has not begun yet');
        equal(noticeForItem({ ...item, state: 'revoked', kind: 'sale' }).heading, 'This order was withdrawn');
        """
    ),
    (
        "a failed request says its kind, its reason and when to come back",
        """
        const { getJSON } = await import('/assets/api.js');
        const real = window.fetch;
        const answer = (status, body, headers = {}) => { window.fetch = () => Promise.resolve(new Response(body, { status, headers })); };
        try {
          const problem = { 'Content-Type': 'application/problem+json', 'Retry-After': '240' };
          answer(403, '{"reason":"concurrency","limit":1}', problem);
          let error = await refused(() => getJSON('/x'));
          equal([error.kind, error.reason, error.retryAfter, error.passes], ['refused', 'concurrency', 240, false]);
          for (const [status, kind] of [[401, 'signed-out'], [404, 'missing'], [410, 'missing'], [429, 'busy'], [503, 'busy'], [400, 'other']]) {
            answer(status, '<html>', { 'Content-Type': 'text/html' });
            error = await refused(() => getJSON('/x'));
            equal(error.kind, kind);
          }
          answer(500, '{"code":"store.damaged"}', { 'Content-Type': 'application/problem+json' });
          error = await refused(() => getJSON('/x'));
          equal([error.kind, error.passes], ['damaged', false]);
          const { noticeForError } = await import('/assets/refusals.js');
          const notice = noticeForError(error, { kind: 'loan', startsAt: null, endsAt: null });
          equal(notice.heading, 'The recording is damaged');
          check(notice.text.includes('your place is kept') && notice.retry);
          const { SegmentSource } = await import('/assets/segments.js');
          error = await refused(() => new SegmentSource('/v1/stream/hls/o/playlist.m3u8').open());
          equal(error.kind, 'damaged');
          window.fetch = () => Promise.reject(new TypeError('down'));
          error = await refused(() => getJSON('/x'));
          equal([error.kind, error.passes], ['network', true]);
        } finally {
          window.fetch = real;
        }
        """
    ),
    (
        "a device is called by its browser and system",
        """
        const { nameOf } = await import('/assets/device.js');
        equal([
          'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
          'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0',
          'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36',
          'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile Safari/604.1',
          'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15',
          'curl/8',
        ].map(nameOf), ['Firefox on Linux', 'Edge on Windows', 'Chrome on Android', 'Safari on iPhone', 'Safari on Mac', 'A browser']);
        """
    ),
]
