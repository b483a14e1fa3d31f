// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPServer
import CarrelHome
import CarrelServer
import CarrelSettings
import Glibc

extension ServerConfiguration {
    /// Maximum number of files that a server opens in addition to its connections.
    private static let otherDescriptors = 640

    /// The configuration of a home's server. Its deadlines are the defaults: there is no setting for them.
    ///
    /// - Parameters:
    ///   - settings: the operator's settings.
    ///   - home: the home with the command socket.
    ///   - descriptors: maximum number of open files of the process.
    /// - Throws: `request.invalid` for an invalid network.
    init(_ settings: ServeSettings, _ home: Home, descriptors: Int) throws {
        self.init()
        listeners = [
            .tcp(address: settings.address, port: settings.port, isTLS: settings.certificate != nil),
            .unix(path: home.socketPath, users: [getuid()]),
        ]
        workers = settings.workers
        connectionsPerNetwork = settings.connectionsPerAddress
        bodyMemory = settings.bodyMemory << 20
        minimumReadRate = settings.minimumReadRate
        strictTransport = settings.strictTransport
        // What is not a connection needs descriptors too: media, the database, blobs being written, commands.
        maximumConnections = max(64, min(settings.connections, descriptors - Self.otherDescriptors))
        allowedHosts = settings.allowedHosts
        trustedProxies = try Self.networks(settings.trustedProxies, "http.trusted-proxies")
        certificateProxies = try Self.networks(settings.rights.certificateProxies, "rights.client-cert-proxies")
        // The rights location is reached by the name of the public URL, past any proxy.
        if settings.rightsPort != nil { allowedHosts.append(settings.rightsHost) }
        if let certificate = settings.certificate, let key = settings.certificateKey {
            tls = .init(certificate: certificate, key: key)
        }
    }

    private static func networks(_ texts: [String], _ setting: String) throws -> [AddressRange] {
        try texts.map {
            guard let range = AddressRange($0) else { throw ServerError(.invalid, "\(setting): '\($0)' is not a network") }
            return range
        }
    }
}
