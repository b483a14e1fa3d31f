// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelRights
import CarrelTesting
import CarrelThreads
import CarrelTokens
import Testing

/// A film that `carrel package` writes, in a browser that gets its key from `carrel serve`: the page knows nothing but the manifest.
struct `A stock player with ClearKey` {
    /// Reads the manifest, plays all segments by Media Source Extensions, and gets the key as DASH-IF describes it: a token of `authzurl`,
    /// then a license of `laurl`.
    private static let page = """
        <!doctype html><title>player</title><video id="v" muted></video><script>
        window.failure = ""; window.denial = ""; window.granted = 0; window.waited = 0;
        const cps = "https://dashif.org/CPS";
        async function play(folder, tracks) {
          const video = document.getElementById("v");
          video.onwaitingforkey = () => waited++;
          video.onerror = () => failure = "error: " + (video.error && video.error.message);
          const manifest = new DOMParser().parseFromString(await (await fetch(folder + "/manifest.mpd")).text(), "application/xml");
          const clear = [...manifest.querySelectorAll("ContentProtection")]
            .find(e => e.getAttribute("schemeIdUri").toLowerCase() == "urn:uuid:e2719d58-a985-b3c9-781a-b030af78d30e");
          const address = name => clear.getElementsByTagNameNS(cps, name)[0].textContent.trim();
          const [laurl, authzurl] = [address("laurl"), address("authzurl")];
          const access = await navigator.requestMediaKeySystemAccess("org.w3.clearkey", [{
            initDataTypes: ["cenc"], videoCapabilities: tracks.map(t => ({contentType: t.type, encryptionScheme: "cenc"}))}]);
          await video.setMediaKeys(await access.createMediaKeys());
          video.onencrypted = async event => {
            const session = video.mediaKeys.createSession();
            session.onmessage = async message => {
              const kids = JSON.parse(new TextDecoder().decode(message.message)).kids.sort();
              const token = await (await fetch(authzurl + "?kids=" + kids.join(","))).text();
              const answer = await fetch(laurl, {method: "POST", body: message.message,
                headers: {"Content-Type": "application/json", "Authorization": "Bearer " + token}});
              if (!answer.ok) { denial = (await answer.json()).type; return; }
              granted++;
              await session.update(await answer.arrayBuffer());
            };
            await session.generateRequest(event.initDataType, event.initData);
          };
          const source = new MediaSource();
          video.src = URL.createObjectURL(source);
          await new Promise(done => source.onsourceopen = done);
          await Promise.all(tracks.map(async track => {
            const buffer = source.addSourceBuffer(track.type);
            for (const url of track.urls) {
              buffer.appendBuffer(await (await fetch(folder + "/" + url)).arrayBuffer());
              await new Promise((done, fail) => { buffer.onupdateend = done; buffer.onerror = () => fail("append " + url); });
            }
          }));
          source.endOfStream();
          video.playbackRate = 4;
          await video.play();
        }
        function start(folder, tracks) { play(folder, tracks).catch(error => failure = String(error)); }
        </script>
        """

    private static let kid = KeyID(label: "a film for stock players")
    private static let key = Hex.encode([UInt8](1...16))
    private static let secret = Secret([UInt8](repeating: 9, count: 32))

    @Test func `plays with a key of the server, and is denied a key that does not allow it`() async throws {
        let directory = TemporaryDirectory()
        let (home, folder) = (directory.file("home"), directory.file("film"))
        let communication = try LicenseMessage.CommunicationKey(id: KeyID(label: "portal"), secret: Self.secret)
        let entitlement = LicenseMessage.Entitlement(keys: .stored([.init(id: Self.kid)]))
        let token = try LicenseMessage(communicationKeyID: communication.id, entitlement: entitlement).write(under: communication)
        let asked = Locked<[String]>([])
        // the portal and the film, on another origin than the server
        let site = LoopbackServer { connection in
            while let request = connection.readRequest() {
                if request.target.hasPrefix("/token") {
                    asked.withLock { $0.append(request.target) }
                    connection.respond(200, ["Content-Type: text/plain"], body: Array(token.utf8))
                } else if request.target == "/" {
                    connection.respond(200, ["Content-Type: text/html"], body: Array(Self.page.utf8))
                } else {
                    connection.respond(200, body: Fixtures.bytes(at: directory.path + request.target) ?? [])
                }
            }
        }
        let page = "http://127.0.0.1:\(site.port)"
        let server = try BackgroundProcess([
            DemoServer.program, "serve", "--home", home, "--port", "0", "--http-cors-origins", page,
        ])
        let line = try await server.waitForLine(containing: "listening on http")
        let url = line.split(separator: " ").last.map(String.init) ?? ""
        func carrel(_ arguments: String..., input: String = "") async throws {
            let result = try await runProcess([DemoServer.program] + arguments + ["--home", home], input: Array(input.utf8))
            #expect(result.status.isSuccess, "\(result.errorText)")
        }
        try await carrel("content-key", "add", Self.kid.hex, input: Self.key)
        try await carrel("content-key", "set", Self.kid.hex, "--clear-key")
        let hex = Self.secret.withBytes { Hex.encode([UInt8](copying: $0)) }
        try await carrel("communication-key", "add", communication.id.uuid, input: hex)
        let packaged = try await DemoServer.json([
            "package", try Fixtures.path("media/src/av-h264-aac.mp4"), "-o", folder, "--scheme", "cenc",
            "--key", "\(Self.kid.hex):\(Self.key)", "--license-uri", "\(url)/v1/clear-key", "--authorization-uri",
            "\(page)/token", "--json",
        ])
        let tracks = (packaged["tracks"]?.array ?? []).filter { $0["kind"] == "video" }.map { track -> JSON in
            let (name, codecs) = (track["name"]?.string ?? "", track["codecs"]?.string ?? "")
            let parts = (1...(track["segments"]?.int ?? 1)).map { JSON.string("\(name)/\($0).m4s") }
            return ["type": .string("video/mp4; codecs=\"\(codecs)\""), "urls": .array([.string("\(name)/init.mp4")] + parts)]
        }
        #expect(tracks.count == 1)
        let browser = try await Browser.start(.chromium)
        do {
            try await browser.open(page + "/")
            _ = try await browser.script("start(arguments[0], arguments[1])", "/film", .array(tracks))
            let end = "failure || denial || document.getElementById('v').ended"
            try await browser.wait(until: end, timeout: .seconds(60))
            let counts = try await browser.script(
                """
                const v = document.getElementById('v'), q = v.getVideoPlaybackQuality();
                return [failure, denial, granted, v.ended, v.currentTime > 9, q.totalVideoFrames, q.corruptedVideoFrames]
                """
            )
            #expect(counts == ["", "", 1, true, true, 250, 0], "\(counts)")
            #expect(asked.withLock { $0 } == ["/token?kids=\(Base64URL.encode(Self.kid.bytes))"])
            // the same page without the permission
            try await carrel("content-key", "set", Self.kid.hex, "--no-clear-key")
            try await browser.open(page + "/")
            _ = try await browser.script("start(arguments[0], arguments[1])", "/film", .array(tracks))
            try await browser.wait(until: "failure || denial && waited", timeout: .seconds(60))
            let denied = try await browser.script(
                "const v = document.getElementById('v'); return [failure, denial, granted, v.ended, v.getVideoPlaybackQuality().totalVideoFrames]"
            )
            #expect(denied == ["", "https://dashif.org/drm-problems/not-authorized", 0, false, 0], "\(denied)")
        } catch {
            await browser.close()
            _ = await server.terminate()
            throw error
        }
        await browser.close()
        _ = await server.terminate()
    }
}
