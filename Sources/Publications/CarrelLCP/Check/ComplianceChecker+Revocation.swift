// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

extension ComplianceChecker {
    /// Checks whether the provider's certificate was revoked: an unavailable list fails no check (LCP 1.0 §5.6.2).
    ///
    /// Any list that the root signed can revoke it. Only a current, complete list with a secure digest proves that it was not
    /// revoked. The lists stored on this device, which it uses to open publications, are a separate check.
    ///
    /// - Parameters:
    ///   - license: verified except for revocation; nil if it is not.
    ///   - report: receives the results.
    /// - Returns: whether the license is to be trusted.
    func checkRevocation(_ license: VerifiedLicense?, _ report: inout ComplianceReport) async -> Bool {
        let (name, nameOfKept) = ("license.revocation", "license.revocation-kept")
        guard let license else {
            for name in [name, nameOfKept] { report.skip(name, "the license is not to be trusted") }
            return false
        }
        let certificate = license.certificate
        let root = license.anchor.subjectPublicKeyInfo
        var lists = revocationLists.filter { $0.isSigned(by: root) }
        // report to the caller that a given list was not looked at
        var foreign = lists.count < revocationLists.count ? "the list that was given" : nil
        let addresses = Set(certificate.revocationListAddresses + revocationListAddresses).sorted()
        for address in isOffline ? [] : addresses {
            guard let list = await RevocationLists.download(address, client) else { continue }
            if list.isSigned(by: root) {
                lists.append(list)
            } else if revocationListAddresses.contains(address) {
                foreign = "the list at the address that was given"
            }
        }
        let doubt = foreign.map { "\($0) is not signed by the certificate's root" }
        let none = Self.reason(addresses, isOffline: isOffline)
        let isGood = answer(name, lists, certificate, doubt: doubt, none: none, &report)
        do throws(LCPError) {
            let cache = try await store?.revocationLists() ?? (lists: [], unreadable: [])
            let lists = cache.lists.filter { $0.isSigned(by: root) }
            let doubt = cache.unreadable.first.map { "the list from \($0) that is kept on this device cannot be read" }
            let none = "no list of revoked certificates that its root signed is kept on this device"
            return answer(nameOfKept, lists, certificate, doubt: doubt, none: none, &report) && isGood
        } catch {
            report.skip(nameOfKept, error.message)
            return isGood
        }
    }

    /// Checks a certificate against lists that the root signed.
    ///
    /// - Parameters:
    ///   - name: the question's name.
    ///   - lists: lists that may revoke the certificate.
    ///   - certificate: the provider's.
    ///   - doubt: the reason why the lists prove nothing, if known.
    ///   - none: the reason if there are no lists.
    ///   - report: receives the result.
    /// - Returns: whether it was not revoked.
    private func answer(
        _ name: String,
        _ lists: [RevocationList],
        _ certificate: Certificate,
        doubt: String? = nil,
        none: String,
        _ report: inout ComplianceReport
    ) -> Bool {
        if lists.contains(where: { $0.revokes(certificate) }) {
            report.add(name, "the provider's certificate was revoked")
            return false
        }
        let doubts = lists.map { Self.doubt($0, certificate, clock.now) }
        if let doubt {
            report.skip(name, doubt)
        } else if doubts.contains(nil) {
            report.add(name, nil)
        } else {
            report.skip(name, doubts.compactMap(\.self).first ?? none)
        }
        return true
    }

    /// The reason why a list without the certificate does not prove it valid; nil if it does.
    private static func doubt(_ list: RevocationList, _ certificate: Certificate, _ now: Instant) -> String? {
        let subject = "the list of revoked certificates"
        if list.hasWeakDigest { return "\(subject) is signed with a digest that was broken" }
        if !list.isByIssuer(of: certificate) { return "\(subject) is by another issuer than the certificate" }
        if list.isPartial { return "\(subject) is not complete" }
        if list.thisUpdate > now + RevocationLists.tolerance { return "\(subject) is of a day that has not come" }
        guard let next = list.nextUpdate else { return "\(subject) does not say until when it holds" }
        return next < now ? "\(subject) has expired" : nil
    }

    private static func reason(_ addresses: [String], isOffline: Bool) -> String {
        if addresses.isEmpty { return "the certificate leads to no list of revoked ones" }
        return isOffline ? "no server is asked" : "no list of revoked certificates that its root signed can be had"
    }
}
