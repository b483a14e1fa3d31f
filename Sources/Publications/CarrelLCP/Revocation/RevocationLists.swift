// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient

/// The lists of revoked certificates: stored on disk, refreshed in the background, never waited for.
///
/// A list is stored only if it is readable and signed by a trusted root, which rules out pages of captive portals. An older list
/// never replaces a newer one, and a list signed with a broken digest never replaces a secure one. Such a list is used if it is
/// the only one: it can only revoke certificates.
struct RevocationLists: Sendable {
    let store: LCPStore
    let client: HTTPClient
    let clock: any WallClock
    let anchors: [TrustAnchor]
    /// Addresses of lists, in addition to the addresses in certificates.
    let addresses: [String]
    let background: BackgroundWork

    /// After this a list is fetched again.
    static let age = Duration.seconds(7 * 86_400)
    /// So long an address that gave none is left alone.
    static let pause = Duration.seconds(3600)
    /// The tolerated advance of authorities' clocks.
    static let tolerance = Duration.seconds(86_400)
    private static let timeout = Duration.seconds(8)

    /// The lists known now. Fails to nothing: a missing list keeps no user from reading (LCP 1.0 §5.6.2).
    func current() async -> [RevocationList] { (try? await store.revocationLists().lists) ?? [] }

    /// Refreshes old lists in the background.
    ///
    /// - Parameter certificate: a provider's verified certificate, which names its lists.
    func refresh(for certificate: Certificate) {
        for url in Set(addresses + certificate.revocationListAddresses) {
            background.start("list \(url)") { await fetch(url) }
        }
    }

    private func fetch(_ url: String) async {
        let entry = try? await store.revocationList(at: url)
        let now = clock.now
        if let checkTime = entry?.checked, now < checkTime + Self.age, checkTime <= now { return }
        if let entry, now < entry.attempted + Self.pause, entry.attempted <= now { return }
        try? await store.noteAttempt(at: url, now)
        guard let list = await Self.download(url, client), anchors.contains(where: { list.isSigned(by: $0.subjectPublicKeyInfo) })
        else { return }
        // a list dated in the future would block all lists issued before that date
        guard list.thisUpdate <= now + Self.tolerance, entry?.list.map({ list.isBetter(than: $0) }) ?? true else { return }
        try? await store.keep(list, from: url, at: now)
    }

    /// Downloads the list at an address; nil if there is none.
    static func download(_ url: String, _ client: HTTPClient) async -> RevocationList? {
        var request = ClientRequest(
            url,
            timeouts: ClientTimeouts(connect: timeout, total: timeout, stall: timeout),
            maxResponseBytes: Int64(RevocationList.maxByteCount)
        )
        request.maxRedirects = 3
        guard let response = try? await client.send(request), response.status == .ok else { return nil }
        return try? RevocationList(response.body)
    }
}

extension RevocationList {
    /// Whether the list may replace another: it must not be older if both are equally secure; a secure list replaces an insecure
    /// one whatever age that one declares, because its signature proves nothing.
    fileprivate func isBetter(than other: RevocationList) -> Bool {
        hasWeakDigest == other.hasWeakDigest ? thisUpdate >= other.thisUpdate : !hasWeakDigest
    }
}
