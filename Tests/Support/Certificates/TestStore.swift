// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelJSON

/// An app store of the tests' own: a root, an authority under it and a signer under that, marked as Apple's are, and what they sign.
package struct TestStore: Sendable {
    package let certificates: TestCertificates
    /// The root's certificate in DER.
    package let root: [UInt8]
    /// The extensions of the authority and the signer, each with Apple's mark.
    package static let authority = "\(TestCertificates.authority)\n1.2.840.113635.100.6.2.1 = DER:05:00"
    package static let signer = "\(TestCertificates.signer)\n1.2.840.113635.100.6.11.1 = DER:05:00"

    /// The root's certificate in PEM.
    package var rootFile: String { certificates.directory.file("root.pem") }

    /// Skips the test where there is no openssl command.
    package init() async throws {
        certificates = try TestCertificates()
        root = try await certificates.make("root", extensions: TestCertificates.authority)
        try await certificates.make("authority", by: "root", extensions: Self.authority)
        try await certificates.make("signer", by: "authority", extensions: Self.signer)
    }

    /// Signs a payload as the App Store does.
    ///
    /// - Parameters:
    ///   - payload: members; those that are nil are left out.
    ///   - chain: the names of the certificates that go along, the signer's first.
    ///   - key: the name of the key that signs; the first of the chain when left out.
    /// - Returns: a JWS in the compact form.
    /// - Throws: what openssl says.
    package func sign(
        _ payload: [String: JSON?],
        chain: [String] = ["signer", "authority", "root"],
        key: String? = nil
    ) async throws -> String {
        var object = JSONObject()
        for (name, value) in payload.sorted(by: { $0.key < $1.key }) { object[name] = value }
        let certificates = chain.map { name -> JSON in
            .string(Base64.encode(self.certificates.directory.read("\(name).der") ?? []))
        }
        let header: JSON = ["alg": "ES256", "x5c": .array(certificates)]
        return try await self.certificates.jws(
            header: String(decoding: header.write(), as: UTF8.self),
            payload: String(decoding: JSON.object(object).write(), as: UTF8.self),
            with: key ?? chain.first ?? "signer"
        )
    }

    /// The members of a month's subscription that was bought and signed at `now`, with what a test changes.
    package static func month(_ now: Instant, _ changes: [String: JSON?] = [:]) -> [String: JSON?] {
        let time = Int(now.milliseconds)
        let payload: [String: JSON?] = [
            "transactionId": "2000000001", "originalTransactionId": "2000000001", "bundleId": "com.example.reader",
            "productId": "com.example.monthly", "type": "Auto-Renewable Subscription", "environment": "Production",
            "purchaseDate": .integer(time), "originalPurchaseDate": .integer(time),
            "expiresDate": .integer(time + 30 * 86_400_000), "signedDate": .integer(time), "quantity": 1,
            "inAppOwnershipType": "PURCHASED",
        ]
        return payload.merging(changes) { $1 }
    }

    /// The same for one product that is bought for good.
    package static func single(_ now: Instant, _ changes: [String: JSON?] = [:]) -> [String: JSON?] {
        let single: [String: JSON?] = [
            "transactionId": "2000000009", "originalTransactionId": "2000000009", "productId": "issue-1",
            "type": "Non-Consumable", "expiresDate": .some(nil),
        ]
        return month(now, single.merging(changes) { $1 })
    }
}
