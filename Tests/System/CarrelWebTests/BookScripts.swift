// SPDX-License-Identifier: Apache-2.0

/// read-book.js
let bookScripts: [(name: String, source: String)] = [
    (
        "headings stand over what follows them, and are looked for once",
        """
        const { Book } = await import('/assets/read-book.js');
        const order = Array.from({ length: 300 }, (_, number) => ({ href: `c${number}.xhtml` }));
        order[0].title = 'Title page';
        const toc = [{ href: 'c1.xhtml', title: 'One' }, { href: 'c1.xhtml#b', title: 'Part of one' }, { href: 'elsewhere.xhtml', title: 'No' },
          { href: 'c5.xhtml', title: 'Five', children: [{ href: 'c7.xhtml', title: 'Seven' }] }];
        const book = new Book({ manifest: { metadata: { title: 'A' }, readingOrder: order, toc }, protectedBy: null });
        equal([0, 1, 4, 5, 6, 7, 299, 300, -1].map((index) => book.headingOf(index)),
          ['Title page', 'One', 'One', 'Five', 'Five', 'Seven', 'Seven', '', '']);
        let looked = 0;
        book.indexOf = () => { looked++; return -1; };
        for (let index = 0; index < 300; index++) book.headingOf(index);
        equal(looked, 0);
        """
    ),
    (
        "what is read counts by its positions, or its seconds, or else as one",
        """
        const { Book } = await import('/assets/read-book.js');
        const made = (order, positions) => new Book({ manifest: { metadata: { title: 'A' }, readingOrder: order }, protectedBy: null, positions });
        const text = made([{ href: 'a' }, { href: 'b' }, { href: 'c' }], [1, 7, 2]);
        equal([text.total(0, 0), text.total(1, 0), text.total(1, 0.5), text.total(2, 0.5), text.total(2, 1)], [0, 0.1, 0.45, 0.9, 1]);
        equal([text.position(0, 0), text.position(1, 0), text.position(1, 0.5), text.position(1, 1), text.position(2, 0.999)], [1, 2, 5, 8, 10]);
        const sound = made([{ href: 'a', duration: 30 }, { href: 'b', duration: 90 }], [0, 0]);
        equal([sound.total(1, 0), sound.total(1, 0.5), sound.position(1, 0) ?? null], [0.25, 0.625, null]);
        const neither = made([{ href: 'a', duration: 30 }, { href: 'b' }], []);
        equal([neither.total(1, 0), neither.total(1, 2), neither.position(1, 0) ?? null], [0.5, 1, null]);
        """
    ),
    (
        "fragments say where sound begins (Media Fragments URI 1.0, normal play time)",
        """
        const { timeIn } = await import('/assets/read-book.js');
        const times = { 't=10,20': 10, 't=10': 10, 't=12.5': 12.5, 't=npt:10,20': 10, 't=npt:0:02:10.5,0:03': 130.5, 't=02:10': 130, 't=,20': 0,
          't=npt%3A7%2C9': 7, 'xywh=0,0,1,1&t=4,5': 4, 't=1&t=2': 2, 't=smpte:00:00:05': 0, 't=clock:2009-07-26T11:19:01Z': 0, 't=1:2:3:4': 0,
          'part=3': 0, 'page=3': 0, 't=.5': 0, 't=1e9': 0, '%': 0, '': 0 };
        for (const [fragment, seconds] of Object.entries(times)) equal([fragment, timeIn({ fragment })], [fragment, seconds]);
        equal(timeIn({}), 0);
        """
    ),
    (
        "languages become tags of BCP 47, and what names none becomes nothing",
        """
        const { languageTag } = await import('/assets/language.js');
        const tags = { en: 'en', en_GB: 'en-GB', eng: 'en', ger: 'de', deu: 'de', 'pt-br': 'pt-BR', 'zh-hans-cn': 'zh-Hans-CN', ' fr ': 'fr',
          English: null, und: null, mul: null, zxx: null, zz: null, '': null, 'x y': null };
        for (const [text, tag] of Object.entries(tags)) equal([text, languageTag(text)], [text, tag]);
        for (const nothing of [null, undefined, 7, {}]) equal(languageTag(nothing), null);
        """
    ),
    (
        "a newer question ends the one before, whose answer and failure are nothing",
        """
        const { newest } = await import('/assets/newest.js');
        const asking = newest(), signals = [];
        const ask = (milliseconds, value) => asking(async (signal) => {
          signals.push(signal);
          await new Promise((done) => setTimeout(done, milliseconds));
          if (value instanceof Error) throw value;
          return value;
        });
        equal(await Promise.all([ask(30, 'a'), ask(40, new Error('b')), ask(5, 'c')]), [undefined, undefined, 'c']);
        equal(signals.map((signal) => signal.aborted), [true, true, false]);
        equal((await refused(() => ask(1, new Error('d')))).message, 'd');
        equal(await ask(1, 'e'), 'e');
        """
    ),
    (
        "requests of the administrators' pages end by their signal, in browsers that cannot join signals",
        """
        const { call } = await import('/assets/admin-api.js');
        const real = window.fetch, any = AbortSignal.any;
        delete AbortSignal.any;
        const signals = [];
        window.fetch = (path, { signal }) => new Promise((resolve, reject) => {
          signals.push(signal);
          const end = () => reject(new DOMException('', 'AbortError'));
          if (signal.aborted) end(); else signal.addEventListener('abort', end);
        });
        try {
          const stop = new AbortController();
          const asked = refused(() => call('GET', 'titles', undefined, stop.signal));
          stop.abort();
          equal((await asked).message, 'the server does not respond');
          equal((await refused(() => call('GET', 'titles', undefined, stop.signal))).status, 0);
          equal(signals.map((signal) => signal.aborted), [true, true]);
          window.fetch = async () => new Response('{"a":1}');
          equal(await call('GET', 'titles', undefined, new AbortController().signal), { a: 1 });
          equal(await call('GET', 'titles'), { a: 1 });
        } finally {
          window.fetch = real;
          AbortSignal.any = any;
        }
        """
    ),
]
