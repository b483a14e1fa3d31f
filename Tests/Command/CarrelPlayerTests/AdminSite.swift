// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelTesting
import Glibc
import Testing

/// A server without accounts, and its administrators' page.
struct AdminSite {
    static let password = "correct horse battery"

    let directory = TemporaryDirectory()
    let server: BackgroundProcess
    let url: String
    /// The link that makes the first owner.
    let link: String

    var home: String { directory.file("home") }

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - options: of `carrel serve`.
    ///   - configuration: what is in the home's file of settings.
    /// - Throws: where it does not come up.
    init(_ options: [String] = [], configuration: String = "") async throws {
        let home = directory.file("home")
        if !configuration.isEmpty {
            try await checkProcess(["mkdir", "-p", home])
            directory.write("home/carrel.conf", configuration)
        }
        server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0"] + options)
        let line = try await server.waitForLine(containing: "listening on http")
        url = line.split(separator: " ").last.map(String.init) ?? ""
        let made = try await checkProcess([DemoServer.program, "admin", "setup-link", "--home", home])
        link = String(try #require(made.split(separator: "\n").first { $0.contains("/admin/#setup=") }))
    }

    func stop() async { _ = await server.terminate() }

    /// Types into the fields of a form, and presses its button.
    func fill(_ browser: Browser, _ form: String, _ values: [(String, String)]) async throws {
        try await Self.fill(browser, form, values)
    }

    static func fill(_ browser: Browser, _ form: String, _ values: [(String, String)]) async throws {
        try await browser.wait(until: "document.querySelector('form[name=\(form)]') !== null")
        for (name, value) in values {
            try await browser.type(value, into: "form[name=\(form)] [name=\(name)]")
        }
        try await browser.click("form[name=\(form)] button")
    }

    /// Makes anna the owner, by the link.
    func setUp(_ browser: Browser) async throws {
        try await browser.open(link)
        try await fill(browser, "setup", [("name", "anna"), ("password", Self.password), ("again", Self.password)])
        try await browser.wait(until: "document.getElementById('who-name').textContent.includes('anna')")
    }

    /// Goes to a place of the page, and waits for its content.
    func go(_ browser: Browser, _ place: String, until text: String) async throws {
        try await browser.script("location.hash = '#/\(place)'")
        try await browser.wait(until: "document.getElementById('view').textContent.includes('\(text)')")
    }

    /// Keeps a picture in the folder of the environment variable SCREENSHOTS, where there is one.
    ///
    /// - Parameters:
    ///   - browser: what to take it of.
    ///   - name: the file's, without its ending.
    ///   - isWhole: the page from top to bottom instead of the window.
    static func keep(_ browser: Browser, _ name: String, wholePage isWhole: Bool = false) async {
        guard let folder = unsafe getenv("SCREENSHOTS").map({ unsafe String(cString: $0) }),
            let picture = try? await browser.screenshot(wholePage: isWhole)
        else { return }
        let descriptor = unsafe open("\(folder)/\(name).png", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard descriptor >= 0 else { return }
        _ = unsafe picture.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }
}
