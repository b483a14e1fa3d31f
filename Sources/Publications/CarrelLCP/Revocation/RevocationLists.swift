// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient

/// The lists of revoked certificates: kept on disk, fetched again in the background, never waited for.
///
/// A list is kept only when it can be read and is signed by a trusted root, so that the page of a captive portal is not; an older
/// list never takes the place of a newer one, nor one that is signed with a broken digest that of one that is not. Such a list
/// counts where it is the only one: it can but take certificates back.
struct RevocationLists: Sendable {
    let store: LCPStore
    let client: HTTPClient
    let clock: any WallClock
    let anchors: [TrustAnchor]
    /// Addresses that are asked besides those that certificates name.
    let addresses: [String]
    let background: BackgroundWork

    /// After this a list is fetched again.
    static let age = Duration.seconds(7 * 86_400)
    /// So long an address that gave none is left alone.
    static let pause = Duration.seconds(3600)
    /// How far the clocks of authorities may be ahead.
    static let tolerance = Duration.seconds(86_400)
    private static let timeout = Duration.seconds(8)

    /// The lists known now. Fails to nothing: a missing list keeps no user from reading (LCP 1.0 §5.6.2).
    func known() async -> [RevocationList] { (try? await store.revocationLists().lists) ?? [] }

    /// Fetches lists that are old, in the background.
    ///
    /// - Parameter certificate: a provider's, verified: its lists are asked for.
    func refresh(for certificate: Certificate) {
        for url in Set(addresses + certificate.revocationListAddresses) {
            background.start("list \(url)") { await fetch(url) }
        }
    }

    private func fetch(_ url: String) async {
        let kept = try? await store.revocationList(at: url)
        let now = clock.now
        if let checked = kept?.checked, now < checked + Self.age, checked <= now { return }
        if let kept, now < kept.attempted + Self.pause, kept.attempted <= now { return }
        try? await store.noteAttempt(at: url, now)
        guard let list = await Self.download(url, client), anchors.contains(where: { list.isSigned(by: $0.subjectPublicKeyInfo) })
        else { return }
        // one from a day that has not come would keep out all that are made before it
        guard list.thisUpdate <= now + Self.tolerance, kept?.list.map({ list.isBetter(than: $0) }) ?? true else { return }
        try? await store.keep(list, from: url, at: now)
    }

    /// The list at an address; nil if there is none, or something else.
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
    /// Whether it may take the place of another: not older, where both are as good; a good one takes that of a bad one whatever
    /// that one declares about its age, because it is unsigned.
    fileprivate func isBetter(than other: RevocationList) -> Bool {
        hasWeakDigest == other.hasWeakDigest ? thisUpdate >= other.thisUpdate : !hasWeakDigest
    }
}
