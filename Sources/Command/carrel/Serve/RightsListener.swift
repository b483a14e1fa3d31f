// SPDX-License-Identifier: Apache-2.0

import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPServer
import CarrelLicensing
import CarrelServer
import CarrelThreads
import CarrelWebAPI

/// The listener of the rights location, which requires player certificates. The service issues and renews its own certificate.
final class RightsListener: Sendable {
    private let service: CarrelService
    private let names: [String]
    private let addresses: [[UInt8]]
    private let host: String
    private let clock: any WallClock
    private let current: Locked<Authority.ServerCertificate>
    let listener: ClientCertificateListener

    /// Creates the listener of the settings, with a certificate; nil if it is disabled.
    init?(_ settings: ServeSettings, _ service: CarrelService, clock: any WallClock = SystemClock()) async throws {
        guard let port = settings.rightsPort else { return nil }
        self.clock = clock
        self.service = service
        host = settings.rightsHost
        (names, addresses) = settings.rightsNames
        let certificate = try await service.authority.serverCertificate(names: names, addresses: addresses)
        current = Locked(certificate)
        listener = ClientCertificateListener(
            address: settings.address,
            port: port,
            identity: TLSIdentity(certificate),
            router: service.rightsRouter
        )
    }

    /// Notes the port that the listener got.
    ///
    /// - Returns: the rights location, as tokens name it.
    func listens(on port: UInt16) -> String? {
        service.rightsLocation.listens(at: "\(host):\(port)")
        return service.rightsLocation.url
    }

    /// Replaces the certificate before it ends, and after every rotation of the service's keys: then other players are trusted,
    /// too.
    func job(_ server: HTTPServer) -> BackgroundJob {
        BackgroundJob(every: .seconds(1), trouble: "the certificate of the rights location is not replaced") { [self] in
            let known = current.withLock { $0 }
            let isOld = clock.now >= known.validity.upperBound - Authority.serverRenewal
            let number = try await service.authority.storedKeys().number
            guard isOld || number != known.number else { return }
            let certificate = try await service.authority.serverCertificate(names: names, addresses: addresses)
            try server.replace(TLSIdentity(certificate))
            current.withLock { $0 = certificate }
        }
    }
}

extension TLSIdentity {
    fileprivate init(_ certificate: Authority.ServerCertificate) {
        self.init(
            certificate: Certificate.pem(certificate.certificate) + (certificate.authority.map(Certificate.pem) ?? ""),
            key: certificate.key.pem,
            clientAuthorities: certificate.clientAuthorities.map(Certificate.pem).joined()
        )
    }
}

extension ServeSettings {
    /// The port of the rights location's listener, 0 for any free port; nil if it is disabled.
    var rightsPort: UInt16? {
        switch rights.port {
        case .off: nil
        case .number(let number): number
        case nil: port == 0 ? 0 : nil
        }
    }

    /// The host by which players reach it: the host of the public URL, otherwise a name of the server, otherwise its address.
    var rightsHost: String {
        if let publicHost { return publicHost }
        guard let ip = IPAddress(address), !ip.isLoopback else { return "localhost" }
        if let name = allowedHosts.first(where: { $0 != "*" }) { return name }
        return ip.isWildcard ? "localhost" : ip.urlHost
    }

    /// The host of the public URL, an IPv6 address in brackets.
    private var publicHost: String? {
        guard let publicURL, let start = publicURL.firstRange(of: "://")?.upperBound else { return nil }
        let authority = publicURL[start...].prefix { $0 != "/" }
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") { return String(authority[...end]) }
        return String(authority.prefix { $0 != ":" })
    }

    /// The names and addresses of its certificate.
    fileprivate var rightsNames: (names: [String], addresses: [[UInt8]]) {
        var names = ["localhost"]
        var addresses: [[UInt8]] = [[127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1]]
        for host in [rightsHost, address] + allowedHosts {
            let literal = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
            if let ip = IPAddress(literal) {
                let bytes = Array(ip.bytes)
                if !ip.isWildcard, !addresses.contains(bytes) { addresses.append(bytes) }
            } else if 1...253 ~= host.utf8.count, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), host != "*",
                !names.contains(host)
            {
                names.append(host)
            }
        }
        return (names, addresses)
    }
}
