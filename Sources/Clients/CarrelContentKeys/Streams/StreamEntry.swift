// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelRights

/// An entry of a ``StreamList``: a stream, and the server with its keys.
public struct StreamEntry: Sendable, CustomStringConvertible {
    /// The title, which is unique in its list.
    public let title: String
    /// The address of the playlist, the manifest or the file (https, or http).
    public let videoURL: String
    /// The address of the license server; nil for a stream that is not protected.
    public let licenseServer: String?
    /// The address of the service certificate; nil if the license server provides it.
    public let certificateURL: String?
    /// Whether plain http is allowed for the addresses of this entry (`allowInsecure`).
    public let allowsPlainHTTP: Bool
    private let token: Secret?

    /// Creates an entry. A list checks the values; this initializer does not.
    ///
    /// - Parameters:
    ///   - title: the title.
    ///   - videoURL: the address of the playlist, the manifest or the file.
    ///   - licenseServer: the address of the license server; nil for a stream that is not protected.
    ///   - certificateURL: the address of the service certificate; nil if the license server provides it.
    ///   - licenseToken: the right to a license: a license message or a token; nil for none.
    ///   - allowsPlainHTTP: whether plain http is allowed for the addresses of this entry.
    public init(
        title: String,
        videoURL: String,
        licenseServer: String? = nil,
        certificateURL: String? = nil,
        licenseToken: String? = nil,
        allowsPlainHTTP: Bool = false
    ) {
        self.title = title
        self.videoURL = videoURL
        self.licenseServer = licenseServer
        self.certificateURL = certificateURL
        self.allowsPlainHTTP = allowsPlainHTTP
        token = licenseToken.map { Secret(Array($0.utf8)) }
    }

    /// Whether the stream is protected: it has a license server.
    public var isProtected: Bool { licenseServer != nil }

    /// The right to a license: a license message (JWT) or a token; nil for none. It is a secret.
    public var licenseToken: String? {
        token?.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
    }

    /// The title and whether the stream is protected; no address and no token.
    public var description: String { "\(title) (\(isProtected ? "protected" : "clear"))" }

    /// Checks that the addresses may be requested.
    ///
    /// - Parameter allowsPlainHTTP: whether the caller allows plain http for entries that do not.
    /// - Throws: `streams.insecure` with the title and the field, if an address is plain http beyond this machine and neither the entry nor
    ///   the caller allows it.
    public func check(allowsPlainHTTP: Bool = false) throws(StreamListError) {
        guard !self.allowsPlainHTTP, !allowsPlainHTTP else { return }
        let addresses: [(StreamList.Field, String?)] = [
            (.videoURL, videoURL), (.licenseServer, licenseServer), (.certificateURL, certificateURL),
        ]
        for (field, address) in addresses {
            guard let address, let service = ServiceAddress(address), !service.isTrustworthy else { continue }
            throw StreamListError(
                .insecure,
                "the entry '\(title)', field \(field.rawValue): plain http is for servers on this machine",
                recommendation: "Use https, or set allowInsecure in the entry."
            )
        }
    }
}
