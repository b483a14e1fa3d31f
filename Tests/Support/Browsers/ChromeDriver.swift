// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON

/// Chromium with chromedriver (W3C WebDriver over HTTP).
final class ChromeDriver: BrowserDriver {
    private let process: BackgroundProcess
    private let profile: TemporaryDirectory
    private let client = HTTPClient()
    private let base: String
    private let session: String

    static func start(_ options: BrowserOptions) async throws -> ChromeDriver {
        let chromium = try requirePeer("chromium")
        let driver = try requirePeer("chromedriver")
        let profile = TemporaryDirectory()
        var triesLeft = 3
        while true {
            let process = try BackgroundProcess([driver, "--port=0"], environment: browserEnvironment(home: profile.path))
            let line: String
            do {
                line = try await process.waitForLine(containing: "started successfully on port", timeout: .seconds(60))
            } catch {
                // a port that is free for IPv4 may be taken for IPv6: then it exits immediately
                triesLeft -= 1
                guard triesLeft > 0, "\(error)".contains("Address already in use") else { throw error }
                continue
            }
            let port = line.filter { $0.isNumber }
            return try await ChromeDriver(process, profile, "http://127.0.0.1:\(port)", chromium, options)
        }
    }

    private init(
        _ process: BackgroundProcess,
        _ profile: TemporaryDirectory,
        _ server: String,
        _ chromium: String,
        _ options: BrowserOptions
    ) async throws {
        self.process = process
        self.profile = profile
        var arguments = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--autoplay-policy=no-user-gesture-required", "--user-data-dir=\(profile.file("profile"))", "--window-size=1280,800",
            "--hide-scrollbars",
        ]
        if !options.loopbackNames.isEmpty {
            let rules = options.loopbackNames.map { "MAP \($0) 127.0.0.1" }.joined(separator: ",")
            arguments.append("--host-resolver-rules=\(rules)")
        }
        if options.keepsFramesInProcess { arguments.append("--disable-features=IsolateSandboxedIframes") }
        let capabilities: JSON = [
            "browserName": "chrome",
            "acceptInsecureCerts": .bool(options.acceptsAnyCertificate),
            "goog:loggingPrefs": ["browser": "ALL"],
            "goog:chromeOptions": ["binary": .string(chromium), "args": .array(arguments.map { .string($0) })],
        ]
        let started = try await Self.send(
            client,
            .post,
            "\(server)/session",
            ["capabilities": ["alwaysMatch": capabilities]]
        )
        guard let id = started["sessionId"]?.string else { throw BrowserError("session not created", "there is no session id") }
        session = id
        base = "\(server)/session/\(id)"
        try await emulateMedia(options)
    }

    private func emulateMedia(_ options: BrowserOptions) async throws {
        let motion: JSON = options.reducesMotion ? "reduce" : "no-preference"
        let features: JSON = [
            ["name": "prefers-color-scheme", "value": .string(options.colorScheme.rawValue)],
            ["name": "prefers-reduced-motion", "value": motion],
        ]
        _ = try await devTools("Emulation.setEmulatedMedia", ["features": features])
    }

    func perform(_ command: WebDriverCommand) async throws -> JSON {
        try await Self.send(client, command.method, "\(base)/\(command.path)", command.parameters)
    }

    func setViewport(width: Int, height: Int) async throws {
        // a window cannot be as narrow as a phone, what the page sees of it can
        let metrics: JSONObject = [
            "width": .integer(width), "height": .integer(height), "deviceScaleFactor": 1, "mobile": false,
        ]
        _ = try await devTools("Emulation.setDeviceMetricsOverride", metrics)
    }

    func addStartScript(_ body: String) async throws {
        _ = try await devTools("Page.addScriptToEvaluateOnNewDocument", ["source": .string(body)])
    }

    func fullScreenshot() async throws -> JSON {
        let shot = try await devTools("Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true])
        return shot["data"] ?? .null
    }

    func messages() async throws -> [BrowserMessage] {
        let log = try await Self.send(client, .post, "\(base)/se/log", ["type": "browser"])
        return (log.array ?? []).map { entry in
            BrowserMessage(isError: entry["level"]?.string == "SEVERE", text: entry["message"]?.string ?? "")
        }
    }

    func leavePage() async throws {
        try await openFreshTab()
        _ = try await devTools("Page.bringToFront", [:])
    }

    func clearData(_ options: BrowserOptions) async throws {
        _ = try await devTools("Network.clearBrowserCookies", [:])
        _ = try await devTools("Network.clearBrowserCache", [:])
        _ = try await devTools("Storage.clearDataForOrigin", ["origin": "*", "storageTypes": "all"])
        _ = try await devTools("Browser.resetPermissions", [:])
        _ = try await devTools("Emulation.clearDeviceMetricsOverride", [:])
        try await emulateMedia(options)
        _ = try await messages()
    }

    func quit() async {
        _ = try? await Self.send(client, .delete, base, [:])
        await process.terminate(grace: .seconds(5))
    }

    private func devTools(_ name: String, _ parameters: JSONObject) async throws -> JSON {
        let command: JSONObject = ["cmd": .string(name), "params": .object(parameters)]
        return try await Self.send(client, .post, "\(base)/goog/cdp/execute", command)
    }

    private static func send(
        _ client: HTTPClient,
        _ method: HTTPMethod,
        _ url: String,
        _ parameters: JSONObject
    ) async throws -> JSON {
        let timeouts = ClientTimeouts(total: .seconds(180), stall: .seconds(180))
        var request = ClientRequest(method, url, timeouts: timeouts, maxResponseBytes: 256 << 20)
        if method == .post {
            request.headers["Content-Type"] = "application/json; charset=utf-8"
            request.body = .bytes(JSON.object(parameters).write())
        }
        let response = try await client.send(request)
        let answer = try JSON.parse(response.body.rawSpan, limits: JSONLimits(depth: 256, byteCount: 256 << 20))
        let value = answer["value"] ?? .null
        if let code = value["error"]?.string { throw BrowserError(code, value["message"]?.string ?? "") }
        return value
    }
}

/// The environment of a browser, without the home directory of the test's user.
func browserEnvironment(home: String) -> [String: String] {
    [
        "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "TMPDIR": home, "XDG_RUNTIME_DIR": home, "LANG": "C.UTF-8",
        "TZ": "UTC", "MOZ_CRASHREPORTER_DISABLE": "1", "MOZ_DISABLE_CONTENT_SANDBOX": "1",
    ]
}
