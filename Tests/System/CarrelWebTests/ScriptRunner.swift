// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import CarrelWeb
import Testing

/// Runs modules of JavaScript against the page's own modules in a real browser, once for all of them.
///
/// Each script is the body of an async function; it may import our modules from `/assets/…`, and uses `equal(a, b)`,
/// `check(truth, words)` and `refused(function)`. What it throws is its failure.
enum ScriptRunner {
    /// The result of each script by its name: an empty text, or the failure.
    static func run(_ scripts: [(name: String, source: String)]) async throws -> [String: String] {
        let browser = try requirePeer("chromium")
        let profile = TemporaryDirectory()
        let outcome = Locked<String?>(nil)
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                if request.method == "POST" {
                    outcome.withLock { $0 = String(decoding: request.body, as: UTF8.self) }
                    connection.respond(204)
                } else if request.target == "/" {
                    connection.respond(200, ["Content-Type: text/html; charset=utf-8"], body: Array(page(scripts).utf8))
                } else if let name = request.target.split(separator: "/").last, let asset = WebAssets.named(String(name)) {
                    connection.respond(200, ["Content-Type: \(asset.mediaType)"], body: asset.bytes)
                } else {
                    connection.respond(404)
                }
            }
        }
        let process = try BackgroundProcess([
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--user-data-dir=\(profile.path)", "http://127.0.0.1:\(server.port)/",
        ])
        let deadline = ContinuousClock.now + .seconds(90)
        while outcome.withLock({ $0 == nil }), ContinuousClock.now < deadline, process.status == nil {
            try await Task.sleep(for: .milliseconds(50))
        }
        _ = await process.kill()
        let text = try #require(outcome.withLock { $0 }, "the browser told nothing: \(process.errors.suffix(400))")
        var results: [String: String] = [:]
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) {
            let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
            results[String(parts[0])] = String(parts[1])
        }
        return results
    }

    private static func page(_ scripts: [(name: String, source: String)]) -> String {
        let tests = scripts.map { "[\"\($0.name)\", async () => {\n\($0.source)\n}]" }.joined(separator: ",\n")
        return """
            <!doctype html><title>Tests</title>
            <script type="module">
            const show = (value) => JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}n` : ArrayBuffer.isView(v) ? [...v] : v));
            const equal = (a, b) => { if (show(a) !== show(b)) throw new Error(`${show(a)} instead of ${show(b)}`); };
            const check = (truth, words) => { if (!truth) throw new Error(words ?? 'a check failed'); };
            const refused = async (action) => {
              try { await action(); } catch (error) { return error; }
              throw new Error('it was accepted');
            };
            const hex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
            const tests = [\(tests)];
            const lines = [];
            for (const [name, test] of tests) {
              let failure = '';
              try { await test(); } catch (error) { failure = String(error.stack ?? error); }
              lines.push(`${name}\\t${failure.replace(/\\s+/g, ' ')}`);
            }
            await fetch('/outcome', { method: 'POST', body: lines.join('\\n') });
            </script>
            """
    }
}
