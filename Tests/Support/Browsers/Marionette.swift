// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelThreads

/// Firefox, driven directly through Marionette.
final class Marionette: BrowserDriver {
    private let process: BackgroundProcess
    private let profile: TemporaryDirectory
    private let connection: MarionetteConnection
    private let consoleLinesSeen = Locked(0)

    static func start(_ options: BrowserOptions) async throws -> Marionette {
        let firefox = try requirePeer("firefox-esr")
        let home = TemporaryDirectory()
        try await checkProcess(["mkdir", "profile"], directory: home.path)
        home.write("profile/user.js", MarionettePreferences.text(options))
        let process = try BackgroundProcess(
            [
                firefox, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile",
                home.file("profile"), "about:blank",
            ],
            environment: browserEnvironment(home: home.path)
        )
        let line = try await process.waitForLine(containing: "Listening on port", timeout: .seconds(120))
        guard let port = line.split(separator: " ").last.flatMap({ UInt16($0) }) else {
            throw BrowserError("disconnected", "Firefox does not say where it listens: \(line)")
        }
        let connection = try await MarionetteConnection(port: port)
        let marionette = Marionette(process, home, connection)
        let capabilities: JSON = ["acceptInsecureCerts": .bool(options.acceptsAnyCertificate)]
        _ = try await connection.send("WebDriver:NewSession", ["capabilities": ["alwaysMatch": capabilities]])
        return marionette
    }

    private init(_ process: BackgroundProcess, _ profile: TemporaryDirectory, _ connection: MarionetteConnection) {
        self.process = process
        self.profile = profile
        self.connection = connection
    }

    func perform(_ command: WebDriverCommand) async throws -> JSON {
        var parameters = command.parameters
        if let element = command.element { parameters["id"] = .string(element) }
        return try await connection.send(command.name, parameters)
    }

    func addStartScript(_ body: String) async throws {
        throw BrowserError("unsupported operation", "Firefox runs no script before a page's own")
    }

    func setViewport(width: Int, height: Int) async throws {
        // a window cannot be as narrow as a phone, so it is the page's place inside it that is given a size
        _ = try await inBrowser(
            """
            const style = gBrowser.selectedBrowser.style;
            for (const limit of ['', 'min-', 'max-']) {
              style.setProperty(`${limit}width`, `${arguments[0]}px`);
              style.setProperty(`${limit}height`, `${arguments[1]}px`);
            }
            """,
            [.integer(width), .integer(height)]
        )
        let measure = WebDriverCommand.execute("return [innerWidth, innerHeight]", [])
        let deadline = ContinuousClock.now + .seconds(30)
        while try await perform(measure) != [.integer(width), .integer(height)] {
            guard ContinuousClock.now < deadline else {
                throw BrowserError("timeout", "Firefox does not make its page \(width) by \(height)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func fullScreenshot() async throws -> JSON {
        try await connection.send("WebDriver:TakeScreenshot", ["full": true])
    }

    func messages() async throws -> [BrowserMessage] {
        let errors = try await inBrowser(
            """
            const seen = Services.console.getMessageArray();
            Services.console.reset();
            return seen.filter(m => m instanceof Ci.nsIScriptError && /^(https?|data|blob|file):/.test(m.sourceName || ''))
              .map(m => [!(m.flags & (Ci.nsIScriptError.warningFlag | Ci.nsIScriptError.infoFlag)),
                `${m.sourceName} ${m.lineNumber}:${m.columnNumber} ${m.errorMessage}`]);
            """
        )
        let thrown = (errors.array ?? []).map { entry in
            BrowserMessage(isError: entry.array?.first?.bool == true, text: entry.array?.last?.string ?? "")
        }
        return thrown + consoleLines()
    }

    /// Console messages of pages: Firefox writes them to its standard output, `console.LEVEL: "text"` a line.
    private func consoleLines() -> [BrowserMessage] {
        let lines = process.output.split(separator: "\n").filter { $0.hasPrefix("console.") }
        let fresh = consoleLinesSeen.withLock { seen in
            defer { seen = lines.count }
            return lines.dropFirst(seen)
        }
        return fresh.map { BrowserMessage(isError: $0.hasPrefix("console.error"), text: String($0)) }
    }

    /// Runs a script with the browser's own rights.
    private func inBrowser(_ script: String, _ arguments: [JSON] = []) async throws -> JSON {
        _ = try await connection.send("Marionette:SetContext", ["value": "chrome"])
        let result: Result<JSON, any Error>
        do {
            let parameters: JSONObject = ["script": .string(script), "args": .array(arguments)]
            result = .success(try await connection.send("WebDriver:ExecuteScript", parameters))
        } catch {
            result = .failure(error)
        }
        _ = try await connection.send("Marionette:SetContext", ["value": "content"])
        return try result.get()
    }

    func leavePage() async throws {
        // of a long output only the end is kept, so that lines already seen could not be told from new ones
        guard process.output.utf8.count < 1 << 19 else { throw BrowserError("disconnected", "this Firefox wrote too much") }
        try await openFreshTab()
    }

    func clearData(_ options: BrowserOptions) async throws {
        _ = try await inBrowser(
            """
            for (const limit of ['', 'min-', 'max-']) {
              for (const side of ['width', 'height']) gBrowser.selectedBrowser.style.removeProperty(limit + side);
            }
            return new Promise(done => Services.clearData.deleteData(Ci.nsIClearDataService.CLEAR_ALL, () => done(true)))
            """
        )
        _ = try await messages()
    }

    func quit() async {
        _ = try? await connection.send("Marionette:Quit", ["flags": ["eForceQuit"]])
        _ = try? await process.waitForExit(timeout: .seconds(10))
        await process.terminate(grace: .seconds(5))
    }
}
