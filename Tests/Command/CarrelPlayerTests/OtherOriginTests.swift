// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelTesting
import Testing

/// A player on another origin, in a real browser.
struct `A web player of another origin` {
    private let elsewhere = LoopbackServer { connection in
        while connection.readRequest() != nil {
            connection.respond(200, ["Content-Type: text/html"], body: Array("<!doctype html><title>player</title>".utf8))
        }
    }

    /// Fetches and decrypts the first segment, as players do in browsers that know no playlists, and reports it.
    private func decryptAndReport(_ browser: Browser, _ server: DemoServer, _ title: DemoServer.DemoTitle) async throws -> JSON {
        try await browser.open("http://127.0.0.1:\(elsewhere.port)/")
        return try await browser.asyncScript(
            """
            const [server, order, start, done] = arguments;
            (async () => {
              const address = `${server}/v1/stream/hls/${order}/playlist.m3u8`;
              const playlist = await (await fetch(address)).text();
              const [, uri, iv] = /URI="([^"]+)"(?:,IV=0x([0-9A-Fa-f]+))?/.exec(playlist);
              const sequence = BigInt(/MEDIA-SEQUENCE:(\\d+)/.exec(playlist)?.[1] ?? 0);
              const vector = Uint8Array.from((iv ?? sequence.toString(16)).padStart(32, '0').match(/../g), (pair) => parseInt(pair, 16));
              const bytes = async (path) => (await fetch(new URL(path, address))).arrayBuffer();
              const raw = await bytes(uri);
              const key = await crypto.subtle.importKey('raw', raw, 'AES-CBC', false, ['decrypt']);
              const segment = await bytes(playlist.split('\\n').find((line) => line && !line.startsWith('#')));
              const plain = await crypto.subtle.decrypt({ name: 'AES-CBC', iv: vector }, key, segment);
              const packets = new Uint8Array(plain).filter((byte, at) => at % 188 === 0);
              const isSound = packets.length > 100 && plain.byteLength % 188 === 0 && packets.every((byte) => byte === 0x47);
              const report = await fetch(`${server}/v2/states/`, {
                method: 'POST',
                headers: { 'Content-Type': 'application/json' },
                body: JSON.stringify([{ id: order, startUtc: start, endUtc: start, startPosition: 0, endPosition: 1 }]),
              });
              return `key ${raw.byteLength}, ${isSound ? 'packets' : 'noise'}, accepted ${(await report.json()).accepted}`;
            })().then(done, (error) => done(String(error)));
            """,
            .string(server.url),
            .string(title.order),
            .string(Instant.now().description)
        )
    }

    /// Plays a second of the order and reports it, as a page may only where the server's origin lets it.
    private func playAndReport(_ browser: Browser, _ server: DemoServer, _ title: DemoServer.DemoTitle) async throws -> JSON {
        try await browser.open("http://127.0.0.1:\(elsewhere.port)/")
        return try await browser.asyncScript(
            """
            const [server, order, start, done] = arguments;
            (async () => {
              const audio = new Audio();
              audio.crossOrigin = 'anonymous';
              audio.src = `${server}/v1/stream/hls/${order}/playlist.m3u8`;
              const played = new Promise((resolve, reject) => {
                audio.onerror = () => reject(new Error('audio ' + audio.error.code));
                audio.ontimeupdate = () => { if (audio.currentTime > 1) resolve(); };
              });
              await Promise.all([audio.play(), played]);
              const playlist = await (await fetch(audio.src)).text();
              const key = await fetch(/URI="([^"]+)"/.exec(playlist)[1]);
              const report = await fetch(`${server}/v2/states/`, {
                method: 'POST',
                headers: { 'Content-Type': 'application/json' },
                body: JSON.stringify([{ id: order, startUtc: start, endUtc: start, startPosition: 0, endPosition: 1 }]),
              });
              return `key ${(await key.arrayBuffer()).byteLength}, accepted ${(await report.json()).accepted}`;
            })().then(done, (error) => done(String(error)));
            """,
            .string(server.url),
            .string(title.order),
            .string(Instant.now().description)
        )
    }

    @Test func `streams and reports where its origin is allowed, and only there`() async throws {
        let library = try await DemoServer(["--http-cors-origins", "http://127.0.0.1:\(elsewhere.port),null"])
        let title = try #require(library.titles.first)
        let browser = try await Browser.start(.chromium)
        #expect(try await playAndReport(browser, library, title).string == "key 16, accepted 1")
        _ = await library.stop()
        let closed = try await DemoServer()
        let refused = try await playAndReport(browser, closed, try #require(closed.titles.first)).string ?? ""
        #expect(!refused.hasPrefix("key"), "\(refused)")
        await browser.close()
        _ = await closed.stop()
    }

    @Test(arguments: BrowserKind.allCases)
    func `fetches, decrypts and reports where its origin is allowed, and only there`(kind: BrowserKind) async throws {
        let library = try await DemoServer(["--http-cors-origins", "http://127.0.0.1:\(elsewhere.port),null"])
        let title = try #require(library.titles.first)
        let browser = try await Browser.start(kind)
        let reported = try await decryptAndReport(browser, library, title).string ?? ""
        #expect(reported == "key 16, packets, accepted 1")
        _ = await library.stop()
        let closed = try await DemoServer()
        let refused = try await decryptAndReport(browser, closed, try #require(closed.titles.first)).string ?? ""
        #expect(refused.hasPrefix("TypeError"), "\(refused)")
        await browser.close()
        _ = await closed.stop()
    }
}
