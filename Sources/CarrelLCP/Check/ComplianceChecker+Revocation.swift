import CarrelCrypto

extension ComplianceChecker {
    /// Whether the provider's certificate was taken back, as far as can be told: a list that cannot be had fails nothing (LCP 1.0 §5.6.2).
    ///
    /// - Parameters:
    ///   - license: believed but for this; nil where it is not.
    ///   - report: gets the answer.
    /// - Returns: whether the license is to be believed.
    func checkRevocation(_ license: VerifiedLicense?, _ report: inout ComplianceReport) async -> Bool {
        let name = "license.revocation"
        guard let license else {
            report.skip(name, "the license is not to be believed")
            return false
        }
        var lists = revocationLists
        let addresses = license.certificate.revocationListAddresses + revocationListAddresses
        if !isOffline {
            for address in addresses {
                if let list = await RevocationLists.download(address, client) { lists.append(list) }
            }
        }
        lists.removeAll { !$0.isSigned(by: license.anchor.subjectPublicKeyInfo) }
        if lists.contains(where: { $0.revokes(license.certificate) }) {
            report.add(name, "the provider's certificate was revoked")
            return false
        }
        if lists.isEmpty {
            report.skip(name, Self.reason(addresses, isOffline: isOffline))
        } else {
            report.add(name, nil)
        }
        return true
    }

    private static func reason(_ addresses: [String], isOffline: Bool) -> String {
        if addresses.isEmpty { return "the certificate leads to no list of revoked ones" }
        return isOffline ? "no server is asked" : "no list of revoked certificates that its root signed can be had"
    }
}
