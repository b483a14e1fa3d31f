import CarrelBytes
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
        window.failure = ""; window.asked = []; window.encrypted = 0;
        const base64 = hex => btoa(hex.match(/../g).map(c => String.fromCharCode(parseInt(c, 16))).join(""))
          .replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=+$/, "");
        async function play(tracks, keys) {
          const video = document.getElementById("v");
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
        let server = Self.serve(run)
        let browser = try await Browser.start(.chromium)
        do {
            try await browser.open("http://127.0.0.1:\(server.port)/")
            var tracks: [JSON] = []
            for track in run.summary.tracks {
                var urls: [JSON] = layout == .ranges ? ["/\(track.name).mp4"] : ["/\(track.name)/init.mp4"]
                if layout == .segments { for i in 1...track.segmentCount { urls.append(.string("/\(track.name)/\(i).m4s")) } }
                tracks.append([
                    "kind": .string(track.kind), "type": .string("\(track.kind)/mp4; codecs=\"\(track.codecs)\""),
                    "scheme": .string(scheme.rawValue), "urls": .array(urls),
                ])
            }
            let keys: [JSON] = [
                ["id": .string("\(PackagingRun.videoKey.id)"), "key": "000102030405060708090a0b0c0d0e0f"],
                ["id": .string("\(PackagingRun.audioKey.id)"), "key": "f0e0d0c0b0a090807060504030201000"],
            ]
            _ = try await browser.script("start(arguments[0], arguments[1])", .array(tracks), .array(keys))
            try await browser.wait(until: "failure || document.getElementById('v').ended", timeout: .seconds(60))
            #expect(try await browser.script("return failure") == "")
            let time = try await browser.script("return document.getElementById('v').currentTime")
            #expect((time.double ?? 0) > 9.9, "\(time)")
            let decoded = try await browser.script(
                "const v = document.getElementById('v'); return [v.webkitDecodedFrameCount, v.webkitAudioDecodedByteCount, asked.length]"
            )
            let counts = decoded.array ?? []
            #expect((counts.first?.int ?? 0) > 150 && (counts.dropFirst().first?.int ?? 0) > 10_000, "\(decoded)")
            #expect((counts.last?.int ?? 0) >= 2)
        } catch {
            await browser.close()
            throw error
        }
        await browser.close()
    }
}
