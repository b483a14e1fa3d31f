// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelHTTPServer
import CarrelHome
import CarrelServer
import CarrelSettings
import Glibc

/// The public base URL of a home's server, for commands that print links to it.
struct PublicURLOptions: ParameterGroup, Sendable {
    var url: String?
    var options = HomeOptions()

    static var parameters: [Parameter<PublicURLOptions>] {
        [
            .option(
                \.url,
                "--url",
                value: "url",
                help: "Base URL of the server as browsers reach it; default: http.public-url, or where the server listens."
            )
        ] + Parameter.group(\.options)
    }

    /// Returns the address of a path on the server, relative to `--url`, the public URL of the settings, the address of the
    /// running server, or the address that a server would have.
    ///
    /// - Parameters:
    ///   - path: with its first slash.
    ///   - console: gets warnings about settings.
    /// - Returns: the address.
    /// - Throws: ``NoLinkOrigin`` if no host is known that browsers could reach.
    func address(of path: String, _ console: Console) throws -> String { try base(console).url + path }

    /// The base URL, without a trailing slash, and whether it is only a guess because no server is running.
    ///
    /// - Parameter console: gets warnings about settings.
    /// - Returns: both.
    /// - Throws: ``NoLinkOrigin`` if no host is known that browsers could reach.
    func base(_ console: Console) throws -> (url: String, isGuess: Bool) {
        let (base, isGuess) = try url.map { ($0, false) } ?? usual(console)
        guard let base, !base.isEmpty else { throw NoLinkOrigin() }
        return (base.hasSuffix("/") ? String(base.dropLast()) : base, isGuess)
    }

    private func usual(_ console: Console) throws -> (String?, Bool) {
        let home = try options.find()
        let settings = try LoadedSettings(home: home, overrides: SettingOverrides(), console: console).values
        if let publicURL = settings.publicURL { return (publicURL, false) }
        if HomeClient.accepts(home.socketPath), let running = Self.note(in: home.lockPath) {
            return (running == Self.nowhere ? nil : running, false)
        }
        guard let address = IPAddress(settings.address) else { return (nil, true) }
        let origin = LinkOrigin.origin(
            of: .tcp(address: address, port: settings.port, isTLS: settings.certificate != nil),
            allowedHosts: settings.allowedHosts
        )
        return (origin, true)
    }

    /// The placeholder of a server without a host that browsers can reach.
    static let nowhere = "-"

    /// The text that the server left in its lock file.
    private static func note(in path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 10)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        return count > 0 ? String(validating: bytes.prefix(count), as: UTF8.self) : nil
    }
}

/// The error for a link without a known host that browsers can reach and the server accepts.
struct NoLinkOrigin: ReportableError {
    var message: String { "the server listens on every network, and no host name is set for links" }
    var hint: String? { "set http.public-url or http.allowed-hosts, or use --url for this link" }
    var exitStatus: ExitStatus { .badSettings }
}
