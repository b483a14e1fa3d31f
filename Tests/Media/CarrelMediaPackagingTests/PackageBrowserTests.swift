// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting
import Testing

/// Fragments in Media Source Extensions, keys by ClearKey of Encrypted Media Extensions.
struct `A package in a browser` {
    /// Plays the tracks of a package: appends all segments, gives the key that the page is asked for, and counts pictures.
    private static let page = """
        <!doctype html><title>player</title><video id="v" muted></video><script>
        window.failure = ""; window.asked = []; window.encrypted = 0; window.waited = 0; window.stalled = false;
        const base64 = hex => btoa(hex.match(/../g).map(c => String.fromCharCode(parseInt(c, 16))).join(""))
          .replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=+$/, "");
        async function play(tracks, keys) {
          const video = document.getElementById("v");
          video.onwaitingforkey = () => waited++;
          let place = -1, since = 0;
          setInterval(() => {
            if (video.currentTime != place) { place = video.currentTime; since = Date.now(); }
            stalled = waited > 0 && Date.now() - since > 4000;
          }, 100);
          video.onerror = () => failure = "error: " + (video.error && video.error.message);
          const capabilities = kind => tracks.filter(t => t.kind == kind).map(t => ({contentType: t.type, encryptionScheme: t.scheme}));
          const access = await navigator.requestMediaKeySystemAccess("org.w3.clearkey", [{
            initDataTypes: ["cenc"], videoCapabilities: capabilities("video"), audioCapabilities: capabilities("audio")}]);
          await video.setMediaKeys(await access.createMediaKeys());
          video.onencrypted = async event => {
            encrypted++;
            const session = video.mediaKeys.createSession();
            session.onmessage = message => {
              const request = JSON.parse(new TextDecoder().decode(message.message));
              asked.push(...request.kids);
              const found = keys.filter(k => request.kids.includes(base64(k.id)));
              const set = {type: "temporary", keys: found.map(k => ({kty: "oct", kid: base64(k.id), k: base64(k.key)}))};
              session.update(new TextEncoder().encode(JSON.stringify(set)));
            };
            await session.generateRequest(event.initDataType, event.initData);
          };
          const source = new MediaSource();
          video.src = URL.createObjectURL(source);
          await new Promise(done => source.onsourceopen = done);
          await Promise.all(tracks.map(async track => {
            const buffer = source.addSourceBuffer(track.type);
            for (const url of track.urls) {
              const bytes = await (await fetch(url)).arrayBuffer();
              buffer.appendBuffer(bytes);
              await new Promise((done, fail) => { buffer.onupdateend = done; buffer.onerror = () => fail("append " + url); });
            }
          }));
          source.endOfStream();
          video.playbackRate = 4;
          await video.play();
        }
        function start(tracks, keys) { play(tracks, keys).catch(error => failure = String(error)); }
        </script>
        """

    private static func serve(_ run: PackagingRun) -> LoopbackServer {
        let path = run.path
        return LoopbackServer { connection in
            while let request = connection.readRequest() {
                let body = request.target == "/" ? Array(page.utf8) : Fixtures.bytes(at: path + request.target) ?? []
                let type = request.target == "/" ? "text/html" : "video/mp4"
                guard connection.respond(200, ["Content-Type: \(type)"], body: body) else { return }
            }
        }
    }

    @Test(arguments: [CommonEncryptionScheme.cenc, .cbcs], [PackagingOptions.Layout.segments, .ranges])
    func `plays with the keys that it asks for by ClearKey`(
        scheme: CommonEncryptionScheme,
        layout: PackagingOptions.Layout
    ) async throws {
        var options = PackagingRun.options(scheme, layout)
        // both kinds of a clear beginning, and both keys
        if layout == .segments { options.clearLead = 2000 }
        let run = try await PackagingRun(["src/av-h264-aac.mp4"], options)
        let counts = try await Self.play(run, scheme, [PackagingRun.videoKey, PackagingRun.audioKey])
        #expect(
            counts.isEnded && counts.time > 9.9 && counts.pictures == 250 && counts.corrupted == 0 && counts.soundBytes > 10_000,
            "\(counts)"
        )
        #expect(counts.asked >= 2)
    }

    /// A third key, so that sound has one of its own where pictures have two.
    private static let otherKey = PackagingRun.key("aabbccddeeff00112233445566778899", "0f1e2d3c4b5a69788796a5b4c3d2e1f0")

    /// Chromium reads the groups of fragments (`seig`) as ISO/IEC 14496-12 §8.9.4 numbers them: from 0x10001 on an index means a
    /// description of the fragment's own `sgpd`, and ISO/IEC 23001-7 §6 puts that description over the track's `tenc`. Shaka Packager
    /// writes them so too, and where it reads it passes over them: it decrypts all samples with the key of `tenc`.
    @Test(arguments: [CommonEncryptionScheme.cenc, .cbcs], [PackagingOptions.Layout.segments, .ranges])
    func `plays every picture of all periods where keys change`(
        scheme: CommonEncryptionScheme,
        layout: PackagingOptions.Layout
    ) async throws {
        var options = PackagingRun.options(scheme, layout)
        options.rotation = 1
        options.videoKeys = [PackagingRun.videoKey, Self.otherKey]
        let run = try await PackagingRun(["src/av-h264-aac.mp4"], options)
        #expect(run.summary.tracks[0].keyIDs.count == 2)
        let counts = try await Self.play(run, scheme, options.videoKeys + options.audioKeys)
        #expect(counts.isEnded && counts.pictures == 250 && counts.corrupted == 0, "\(counts)")
        // the same with the first key alone: the pictures of the second period are not shown
        let half = try await Self.play(run, scheme, [PackagingRun.videoKey, PackagingRun.audioKey])
        #expect(!half.isEnded && half.waited > 0 && half.pictures <= 50, "\(half)")
    }

    /// A browser's playback counters.
    private struct Counts {
        var isEnded: Bool
        var time: Double
        var pictures: Int
        var corrupted: Int
        var soundBytes: Int
        var asked: Int
        var waited: Int
    }

    private static func play(
        _ run: PackagingRun,
        _ scheme: CommonEncryptionScheme,
        _ keys: [PackagingKey]
    ) async throws -> Counts {
        let server = serve(run)
        let browser = try await Browser.start(.chromium)
        do {
            try await browser.open("http://127.0.0.1:\(server.port)/")
            var tracks: [JSON] = []
            for track in run.summary.tracks {
                let isSingle = run.options.layout == .ranges
                var urls: [JSON] = isSingle ? ["/\(track.name).mp4"] : ["/\(track.name)/init.mp4"]
                if !isSingle { for i in 1...track.segmentCount { urls.append(.string("/\(track.name)/\(i).m4s")) } }
                tracks.append([
                    "kind": .string(track.kind), "type": .string("\(track.kind)/mp4; codecs=\"\(track.codecs)\""),
                    "scheme": .string(scheme.rawValue), "urls": .array(urls),
                ])
            }
            let list: [JSON] = keys.map { key in
                ["id": .string("\(key.id)"), "key": .string(key.key.withBytes { Hex.encode([UInt8](copying: $0)) })]
            }
            _ = try await browser.script("start(arguments[0], arguments[1])", .array(tracks), .array(list))
            try await browser.wait(
                until: "failure || stalled || document.getElementById('v').ended",
                timeout: .seconds(60)
            )
            #expect(try await browser.script("return failure") == "")
            let found =
                try await browser.script(
                    """
                    const v = document.getElementById('v'), q = v.getVideoPlaybackQuality();
                    return [v.currentTime, q.totalVideoFrames, q.corruptedVideoFrames, v.webkitAudioDecodedByteCount, asked.length, waited,
                        v.ended ? 1 : 0]
                    """
                ).array ?? []
            func count(_ i: Int) -> Int { i < found.count ? found[i].int ?? 0 : 0 }
            await browser.close()
            return Counts(
                isEnded: count(6) == 1,
                time: found.first?.double ?? 0,
                pictures: count(1),
                corrupted: count(2),
                soundBytes: count(3),
                asked: count(4),
                waited: count(5)
            )
        } catch {
            await browser.close()
            throw error
        }
    }
}
