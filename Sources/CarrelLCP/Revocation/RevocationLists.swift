import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient

/// The lists of revoked certificates: kept on disk, fetched anew in the background, never waited for.
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
    private static let timeout = Duration.seconds(8)

    /// What is known now. Fails to nothing: a list that cannot be had keeps nobody from reading (LCP 1.0 §5.6.2).
    func known() async -> [RevocationList] { (try? await store.revocationLists()) ?? [] }

    /// Fetches lists that are old, in the background.
    ///
    /// - Parameter certificate: a provider's, believed: its lists are asked for.
    func refresh(for certificate: Certificate) {
        for url in Set(addresses + certificate.revocationListAddresses) {
            background.start("list \(url)") { await fetch(url) }
        }
    }

    private func fetch(_ url: String) async {
        let kept = try? await store.revocationList(at: url)
        if let kept, clock.now < kept.checked + Self.age, kept.checked <= clock.now { return }
        var request = ClientRequest(
            url,
            timeouts: ClientTimeouts(connect: Self.timeout, total: Self.timeout, stall: Self.timeout),
            maxResponseBytes: Int64(RevocationList.maxByteCount)
        )
        request.maxRedirects = 3
        guard let response = try? await client.send(request), response.status == .ok,
            let list = try? RevocationList(response.body), anchors.contains(where: { list.isSigned(by: $0.subjectPublicKeyInfo) })
        else { return }
        if let kept, list.thisUpdate < kept.list.thisUpdate || (list.hasWeakDigest && !kept.list.hasWeakDigest) { return }
        try? await store.keep(list, from: url, at: clock.now)
    }
}
