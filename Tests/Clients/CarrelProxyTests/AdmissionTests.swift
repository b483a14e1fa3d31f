// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelJSON
import CarrelMedia
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

struct `Requests to a proxy` {
    private static func session(_ run: ProxyRun, _ type: PlaylistProxy.SourceType = .dash) throws -> PlaylistProxy.Session {
        let (path, keys) = try `A DASH source`.source("number-clear")
        return try run.proxy.makeURL(path, type, keys: keys)
    }

    /// The port and the target of an address.
    private static func parts(_ url: String) throws -> (port: UInt16, target: String) {
        let rest = url.dropFirst("http://127.0.0.1:".count)
        let slash = try #require(rest.firstIndex(of: "/"))
        return (try #require(UInt16(rest[..<slash])), String(rest[slash...]))
    }

    private static func send(
        _ url: String,
        _ fields: String = "",
        host: String = "127.0.0.1",
        method: String = "GET",
        _ target: String? = nil
    )
        async throws -> RawResponse
    {
        let (port, own) = try parts(url)
        let client = try RawClient(port: port)
        let name = host.contains(":") ? host : "\(host):\(port)"
        try await client.send("\(method) \(target ?? own) HTTP/1.1\r\nHost: \(name)\r\n\(fields)\r\n")
        return try await client.response(toHead: method == "HEAD")
    }

    @Test func `without the token get the same refusal whatever they ask for`() async throws {
        let run = try ProxyRun()
        let session = try Self.session(run)
        let wrong = String(repeating: "A", count: session.authToken.count)
        var bodies: Set<String> = []
        let paths = ["", "/", "/index.m3u8", "/segment.ts?n=0", "/key.bin", "/nothing", "/player.html"]
        for target in paths.map({ "/play/\(wrong)\($0)" }) + [
            "/", "/play", "/play/", "/play/\(session.authToken.dropLast())/index.m3u8", "/other/\(session.authToken)/index.m3u8",
        ] {
            let response = try await Self.send(session.url, "", target)
            #expect(response.status == 403, "\(target)")
            bodies.insert(response.text.replacing(/"requestId":"[^"]*"/, with: ""))
        }
        #expect(bodies.count == 1, "\(bodies)")
        // the token in a header field opens nothing if it belongs in the address
        let header = try await Self.send(session.url, "Authorization: Bearer \(session.authToken)\r\n", "/play/index.m3u8")
        #expect(header.status == 403)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: ["example.org", "127.0.0.1.nip.io", "127.0.0.1:1", "[::1]"])
    func `for another host are refused`(host: String) async throws {
        let run = try ProxyRun()
        let session = try Self.session(run)
        #expect(try await Self.send(session.url, host: host).status == 421)
        #expect(try await Self.send(session.url).status == 200)
        await run.proxy.stop()
    }

    @Test(arguments: [
        "Origin: https://example.org", "Origin: null", "Origin: http://127.0.0.1:1", "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ])
    func `of a page of another origin are refused`(field: String) async throws {
        let run = try ProxyRun()
        let session = try Self.session(run)
        #expect(try await Self.send(session.url, "\(field)\r\n").status == 403)
        #expect(try await Self.send(session.url, "Sec-Fetch-Site: same-origin\r\n").status == 200)
        await run.proxy.stop()
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS"]) func `that would change something are refused`(method: String)
        async throws
    {
        let run = try ProxyRun()
        let session = try Self.session(run)
        #expect(try await Self.send(session.url, "Content-Length: 0\r\n", method: method).status == 405)
        #expect(try await Self.send(session.url, method: "HEAD").status == 200)
        await run.proxy.stop()
    }

    @Test func `have the token in a header field where the caller wants that`() async throws {
        let run = try ProxyRun { $0.hasTokenInHeader = true }
        let session = try Self.session(run)
        #expect(!session.url.contains(session.authToken) && !session.pageURL.contains(session.authToken))
        #expect(try await Self.send(session.url).status == 403)
        let field = "Authorization: Bearer \(session.authToken)\r\n"
        let response = try await Self.send(session.url, field)
        #expect(response.status == 200)
        let media = try #require(response.text.split(separator: "\n").first { !$0.hasPrefix("#") })
        #expect(try await Self.send(session.url, field, "/play/\(media)").status == 200)
        #expect(try await Self.send(session.url, "", "/play/\(media)").status == 403)
        #expect(try await Self.send(session.url, "", "/play/\(session.authToken)/index.m3u8").status == 403)
        await run.proxy.stop()
    }

    @Test func `of this process and its children are answered where others are not`() async throws {
        let run = try ProxyRun { $0.clients = .ownProcesses }
        let session = try Self.session(run)
        #expect(try await Self.send(session.url).status == 200)
        let curl = try requirePeer("curl")
        let child = try await runProcess([curl, "-s", "-o", "/dev/null", "-w", "%{http_code}", session.url])
        #expect(child.text == "200")
        // its parent has ended, so that it has no ancestor here; it left the process group before that, whose rest is killed then
        let directory = TemporaryDirectory()
        let script = directory.write(
            "orphan",
            """
            cd '\(directory.path)'; : > left; while kill -0 "$1"; do sleep 0.05; done
            \(curl) -s -o /dev/null -w '%{http_code}' '\(session.url)' > part; mv part status
            """
        )
        let start = "\(try requirePeer("setsid")) sh '\(script)' $$ & until [ -e '\(directory.path)/left' ]; do sleep 0.05; done"
        _ = try await checkProcess([try requirePeer("sh"), "-c", "exec > /dev/null 2>&1 < /dev/null; \(start)"])
        for _ in 0..<1600 where directory.read("status") == nil { try await Task.sleep(for: .milliseconds(25)) }
        #expect(directory.read("status").map { String(decoding: $0, as: UTF8.self) } == "403")
        await run.proxy.stop()
    }

    @Test func `with a long address are for the source that it was made for`() async throws {
        let run = try ProxyRun { $0.usesLongURLs = true }
        let session = try Self.session(run)
        let (path, _) = try `A DASH source`.source("number-clear")
        #expect(session.url.hasSuffix("?source=\(PercentEncoding.encode(path))"))
        #expect(try await Self.send(session.url).status == 200)
        let base = try #require(session.url.split(separator: "?").first)
        for query in [
            "", "?source=", "?source=/etc/passwd", "?source=http://127.0.0.1/", "?source=\(path)x", "?source=x&source=\(path)",
        ] {
            try await ProxyRun.expectRefusal(base + query, .missing, 404, of: run)
        }
        // a page, and what it plays
        let page = try await ProxyRun.text(session.pageURL)
        #expect(page.contains("index.m3u8?source=\(PercentEncoding.encode(path))"))
        await run.proxy.stop()
    }

    @Test(arguments: [
        "segment.ts", "segment.ts?n=", "segment.ts?n=-1", "segment.ts?n=1&n=1", "segment.ts?video=99999&n=0",
        "segment.ts?video=1e3",
        "segment.ts?period=99999999999999999999", "segment.ts?n=4611686018427387904",
        "segment.ts?video=0&audio=0&n=9223372036854775807",
        "segment.ts?x=1", "segment.ts?video=-0&n=0&t=-4611686018427387903&audio=7", "segment.m4s?text=10000",
        "text.vtt?text=10000",
        "media.m3u8", "media.m3u8?video=77", "media.m3u8?audio=77", "media.m3u8?text=3", "init.mp4", "init.mp4?video=9",
        "key.bin",
        "index.m3u8/x", "%2e%2e/%2e%2e/etc/passwd", "nothing",
    ])
    func `refuses requests with a hostile query, and keeps the session`(path: String) async throws {
        let run = try ProxyRun()
        let session = try Self.session(run)
        let base = session.url.replacing("index.m3u8", with: "")
        let got = try await Self.send(session.url, "", try Self.parts(base + path).target)
        #expect([400, 403, 404].contains(got.status), "\(got.status) \(got.text)")
        #expect(!got.text.contains(session.authToken))
        #expect(try await Self.send(session.url).status == 200)
        await run.proxy.stop()
    }

    @Test func `of another user of the machine are refused`() async throws {
        let (curl, setpriv) = (try requirePeer("curl"), try requirePeer("setpriv"))
        guard geteuid() == 0 else { try Test.cancel("only root can be another user: setpriv needs it") }
        let run = try ProxyRun()
        let session = try Self.session(run)
        let other = [setpriv, "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        for url in [session.url, session.pageURL] {
            let own = try await checkProcess([curl, "-s", "-o", "/dev/null", "-w", "%{http_code}", url])
            #expect(own == "200")
            let refused = try await checkProcess(other + [curl, "-s", "-o", "/dev/null", "-w", "%{http_code}", url])
            #expect(refused == "403")
        }
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `of a page of another origin in a browser get nothing, even with the address`() async throws {
        let run = try ProxyRun()
        let session = try Self.session(run)
        let origin = try OriginServer("/") { _ in .html("<!doctype html><title>page</title>") }
        let browser = try await Browser.start(.chromium)
        try await browser.open("\(origin.origin)/")
        let outcome = try await browser.asyncScript(
            """
            const [url, done] = arguments;
            const tried = [
              fetch(url).then(answer => "fetched " + answer.status, () => "refused"),
              fetch(url, {mode: "no-cors"}).then(answer => answer.type, () => "refused"),
              new Promise(next => {
                const video = document.createElement("video");
                video.onerror = () => next("refused");
                video.onloadedmetadata = () => next("played");
                video.src = url;
              }),
              new Promise(next => {
                const frame = document.createElement("iframe");
                frame.onload = () => { try { next(frame.contentDocument ? "read" : "hidden"); } catch { next("hidden"); } };
                frame.src = url.replace("index.m3u8", "player.html");
                document.body.append(frame);
              })];
            Promise.all(tried).then(done);
            """,
            .string(session.url)
        )
        // what a page gets without being told is opaque: it cannot be read
        #expect(outcome.array?.map { $0.string ?? "" } == ["refused", "opaque", "refused", "hidden"])
        await browser.close()
        #expect(run.codes == [])
        await run.proxy.stop()
        await origin.stop()
    }
}
