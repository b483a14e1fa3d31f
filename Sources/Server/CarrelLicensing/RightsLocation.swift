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
    ///   - listener: host and port of the listener that requests client certificates; nil if there is none, or its port is not
    ///     known yet.
    package init(publicURL: String?, listener: String? = nil) {
        self.publicURL = publicURL
        self.listener = Locked(listener)
    }

    /// Sets the address of the listener that requests client certificates.
    ///
    /// - Parameter authority: host and port for clients.
    package func listens(at authority: String) {
        listener.withLock { $0 = authority }
    }

    /// The URL without a token: the listener's that requests certificates, else the public URL's if it is https; nil without
    /// either.
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
