// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// The address for redeeming stream tokens, as written into the tokens.
package final class RightsLocation: Sendable {
    /// The path of the rights location.
    package static let path = "/hms/ms3/rights/"

    private let publicURL: String?
    private let listener: Locked<String?>

    /// - Parameters:
    ///   - publicURL: the public URL of the server, without a slash at the end.
    ///   - listener: host and port of the listener that asks clients for a certificate; nil if there is none, or its port is not
    ///     known yet.
    package init(publicURL: String?, listener: String? = nil) {
        self.publicURL = publicURL
        self.listener = Locked(listener)
    }

    /// Notes where the listener listens that asks clients for a certificate.
    ///
    /// - Parameter authority: host and port by which clients reach it.
    package func listens(at authority: String) {
        listener.withLock { $0 = authority }
    }

    /// The URL without a token: of the listener that asks for certificates, else of the public URL where that is https; nil
    /// without either.
    package var url: String? {
        if let listener = listener.withLock({ $0 }) { return "https://\(listener)\(Self.path)" }
        guard let publicURL, publicURL.hasPrefix("https://") else { return nil }
        return publicURL + Self.path
    }

    /// All known URLs of the rights location, in addition to a request's own.
    var urls: [String] {
        [url, publicURL.map { $0 + Self.path }].compactMap(\.self)
    }

    /// The remedy where ``url`` is nil.
    package static let missing = "streams need an https address: set rights.port or an https http.public-url"
}
