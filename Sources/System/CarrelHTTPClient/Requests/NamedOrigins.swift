// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Origins (scheme, host and port; RFC 6454 §4) that a user named, for ``AddressRule/named(_:)``.
///
/// A named origin may lead to any address, also in the user's own network. Once a request has gone to a public address of it, only public
/// addresses are allowed: a server on the Internet cannot bind its name to a machine of the user's network later (DNS rebinding).
public final class NamedOrigins: Sendable {
    private let names: Set<String>
    private let isPublic: @Sendable ([UInt8]) -> Bool
    /// The names that led to a public address.
    private let published = Locked<Set<String>>([])

    /// Creates the list of the origins of some URLs.
    ///
    /// - Parameter urls: one URL or more of each origin; those that are not well-formed name none.
    public convenience init(of urls: [String]) {
        self.init(of: urls, isPublic: PublicAddress.matches)
    }

    init(of urls: [String], isPublic: @escaping @Sendable ([UInt8]) -> Bool) {
        names = Set(urls.compactMap { try? CurlURL($0).origin })
        self.isPublic = isPublic
    }

    /// The name of a URL's origin; nil for another origin, and for a URL that is not well-formed.
    func name(of url: String) -> String? {
        guard let origin = try? CurlURL(url).origin, names.contains(origin) else { return nil }
        return origin
    }

    func allows(_ address: [UInt8], for name: String) -> Bool {
        isPublic(address) || !published.withLock { $0.contains(name) }
    }

    /// Records the address of a request.
    func note(_ address: [UInt8], for name: String) {
        if isPublic(address) { published.withLock { _ = $0.insert(name) } }
    }
}
