// SPDX-License-Identifier: Apache-2.0

import Testing

/// One browser for all scripts.
private let outcomes = Task { try await ScriptRunner.run(allScripts) }

private let allScripts = decryptionScripts + packagingScripts + placeScripts + wordScripts + bookScripts

struct `Scripts of the page` {
    @Test(arguments: allScripts.map(\.name))
    func `do in a browser what they say`(name: String) async throws {
        let outcome = try await outcomes.value
        let failure = try #require(outcome[name], "it did not run")
        #expect(failure.isEmpty, "\(failure)")
    }
}

/// aes.js, decrypt.js
let decryptionScripts: [(name: String, source: String)] = [
    (
        "AES-128-CBC follows SP 800-38A F.2.2",
        """
        const { decryptCBC, expandKey } = await import('/assets/aes.js');
        // The vector's four blocks and the block that encrypts a whole block of padding.
        const cipher = hex('7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2'
          + '73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a78cb82807230e1321d3fae00d18cc2012');
        const plain = decryptCBC(expandKey(hex('2b7e151628aed2a6abf7158809cf4f3c')), hex('000102030405060708090a0b0c0d0e0f'), cipher);
        equal(plain, hex('6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51'
          + '30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710'));
        """
    ),
    (
        "our AES gives what WebCrypto gives, for every length of padding",
        """
        const { decryptorFor } = await import('/assets/decrypt.js');
        for (const length of [...Array(50).keys(), 80_000]) {
          const [key, iv, plain] = [16, 16, length].map((n) => Uint8Array.from({ length: n }, (_, i) => (i * 167 + n) >> (i % 3)));
          const handle = await crypto.subtle.importKey('raw', key, 'AES-CBC', false, ['encrypt']);
          const cipher = new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-CBC', iv }, handle, plain));
          const own = await decryptorFor(key.slice(), null);
          const theirs = await decryptorFor(key.slice());
          equal(await own(iv, cipher), plain);
          equal(await theirs(iv, cipher), plain);
        }
        """
    ),
    (
        "a wrong key, a cut segment and a short key are refused",
        """
        const { decryptorFor } = await import('/assets/decrypt.js');
        for (const subtle of [null, crypto.subtle]) {
          const right = new Uint8Array(16).fill(7);
          const iv = new Uint8Array(16);
          const handle = await crypto.subtle.importKey('raw', right, 'AES-CBC', false, ['encrypt']);
          const cipher = new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-CBC', iv }, handle, new Uint8Array(100)));
          await refused(async () => (await decryptorFor(new Uint8Array(16).fill(8), subtle))(iv, cipher));
          await refused(async () => (await decryptorFor(right.slice(), subtle))(iv, cipher.subarray(0, 90)));
          await refused(async () => (await decryptorFor(right.slice(), subtle))(iv, new Uint8Array(0)));
          await refused(() => decryptorFor(new Uint8Array(15), subtle));
        }
        """
    ),
    (
        "the key's bytes are wiped once it is taken over",
        """
        const { decryptorFor } = await import('/assets/decrypt.js');
        for (const subtle of [null, crypto.subtle]) {
          const key = new Uint8Array(16).fill(9);
          await decryptorFor(key, subtle);
          equal(key, new Uint8Array(16));
        }
        """
    ),
]

/// playlist.js, frames.js, mux-fmp4.js
let packagingScripts: [(name: String, source: String)] = [
    (
        "a playlist is read with its keys, times and addresses",
        """
        const { parsePlaylist, segmentAt, segmentIV } = await import('/assets/playlist.js');
        const text = ['#EXTM3U', '#EXT-X-VERSION:3', '#EXT-X-MEDIA-SEQUENCE:4294967296', '#EXT-X-TARGETDURATION:10',
          '#EXT-X-KEY:METHOD=AES-128,URI="t/0.key"', '#EXTINF:10.004898,', 't/0.mp3', '#EXTINF:10.004898,a, title', 't/1.mp3',
          '#EXT-X-KEY:IV=0X0102,METHOD=AES-128,URI="t/1.key?a=1,2"', '# a comment', '#EXT-X-UNKNOWN', '#EXTINF:3.5', 't/2.mp3',
          '#EXT-X-KEY:METHOD=NONE', '#EXTINF:1,', 't/3.mp3', '#EXT-X-ENDLIST', ''].join('\\r\\n');
        const playlist = parsePlaylist(text, 'http://library.test/a/playlist.m3u8');
        equal(playlist.count, 4);
        equal([...playlist.starts], [0, 10.004898, 20.009796, 23.509796, 24.509796]);
        equal(playlist.uris, ['t/0.mp3', 't/1.mp3', 't/2.mp3', 't/3.mp3']);
        equal([...playlist.keyOf], [0, 0, 1, -1]);
        equal(playlist.keys.map((key) => key.uri), ['t/0.key', 't/1.key?a=1,2']);
        equal(segmentIV(playlist, 1), hex('00000000000000000000000100000001'));
        equal(segmentIV(playlist, 2), hex('00000000000000000000000000000102'));
        equal([-1, 0, 10.0048, 10.004898, 24, 99].map((time) => segmentAt(playlist, time)), [0, 0, 0, 1, 3, 3]);
        """
    ),
    (
        "a twenty-hour playlist adds up exactly and is read in a blink",
        """
        const { parsePlaylist, segmentAt } = await import('/assets/playlist.js');
        const lines = ['#EXTM3U', '#EXT-X-KEY:METHOD=AES-128,URI="t/0.key"'];
        for (let n = 0; n < 7200; n++) lines.push('#EXTINF:10.004898,', `abcdefghijklmnopqrstuvwxyz01/${n}.mp3`);
        const text = lines.join('\\n');
        const begin = performance.now();
        const playlist = parsePlaylist(text, 'http://library.test/');
        check(performance.now() - begin < 250, `it took ${performance.now() - begin} ms`);
        equal(playlist.starts.at(-1), 72035.2656);
        equal(segmentAt(playlist, 36000), 3598);
        """
    ),
    (
        "playlists that this page cannot play are refused",
        """
        const { parsePlaylist } = await import('/assets/playlist.js');
        for (const text of ['', '<html>', '#EXTM3U\\n', '#EXTM3U\\na.mp3', '#EXTM3U\\n#EXTINF:x,\\na.mp3',
          '#EXTM3U\\n#EXT-X-KEY:METHOD=SAMPLE-AES,URI="k"\\n#EXTINF:1,\\na', '#EXTM3U\\n#EXT-X-KEY:METHOD=AES-128\\n#EXTINF:1,\\na',
          '#EXTM3U\\n#EXT-X-KEY:METHOD=AES-128,KEYFORMAT="com.example",URI="k"\\n#EXTINF:1,\\na', '#EXTM3U\\n#EXT-X-MAP:URI="i"\\n#EXTINF:1,\\na']) {
          await refused(() => parsePlaylist(text, 'http://library.test/'));
        }
        """
    ),
    (
        "packed frames are wrapped into a fragment that starts at their frame",
        """
        const { initializationSegment, wrapSegment } = await import('/assets/mux-fmp4.js');
        const id3 = [0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 3, 1, 2, 3];
        const adts = (n) => [0xff, 0xf1, 0x50, 0x80, 0x00 | (7 + n) >> 3, ((7 + n) & 7) << 5 | 0x1f, 0xfc, ...Array(n).fill(n)];
        const { format, fragment } = wrapSegment(Uint8Array.of(...id3, ...adts(20), ...adts(33)), 10.007800, 2);
        equal([format.codec, format.rate, format.channels, [...format.config]], ['aac', 44100, 2, [0x12, 0x10]]);
        const view = new DataView(fragment.buffer);
        const boxes = (from, to) => {
          const found = {};
          for (let at = from; at < to; at += view.getUint32(at)) found[String.fromCharCode(...fragment.subarray(at + 4, at + 8))] = at;
          return found;
        };
        const top = boxes(0, fragment.length);
        equal(Object.keys(top), ['moof', 'mdat']);
        const inMoof = boxes(top.moof + 8, top.mdat);
        const inTraf = boxes(inMoof.traf + 8, top.mdat);
        equal(view.getBigUint64(inTraf.tfdt + 12), 441344n); // 431 frames of 1024 samples, though 10.0078 s is 441343.98
        equal([20, 24].map((at) => view.getUint32(inTraf.trun + at)), [20, 33]);
        const data = view.getUint32(inTraf.trun + 16);
        equal(data, top.mdat + 8);
        equal(fragment.subarray(data), Uint8Array.of(...Array(20).fill(20), ...Array(33).fill(33)));
        equal(String.fromCharCode(...initializationSegment(format).subarray(4, 8)), 'ftyp');
        """
    ),
    (
        "MP3 frames of MPEG-1, MPEG-2 and MPEG-2.5 keep their headers",
        """
        const { findFrames } = await import('/assets/frames.js');
        for (const [head, size, rate, channels, samples, type] of [
          [[0xff, 0xfb, 0x50, 0xc0], 208, 44100, 1, 1152, 0x6b], [[0xff, 0xfb, 0x52, 0x00], 209, 44100, 2, 1152, 0x6b],
          [[0xff, 0xf3, 0x40, 0xc0], 104, 22050, 1, 576, 0x69], [[0xff, 0xe3, 0x40, 0xc0], 208, 11025, 1, 576, 0x69]]) {
          const frame = [...head, ...Array(size - 4).fill(0)];
          const { format, offsets, sizes } = findFrames(Uint8Array.of(...frame, ...frame));
          equal([format.codec, format.rate, format.channels, format.samplesPerFrame, format.objectType], ['mp3', rate, channels, samples, type]);
          equal([offsets, sizes], [[0, size], [size, size]]);
          await refused(() => findFrames(Uint8Array.of(...frame, ...frame.slice(0, -1))));
          await refused(() => findFrames(Uint8Array.of(...frame, 0, 0, 0, 0)));
        }
        await refused(() => findFrames(new Uint8Array(0)));
        await refused(() => findFrames(Uint8Array.of(0xff, 0xfb, 0xf0, 0)));
        """
    ),
]
