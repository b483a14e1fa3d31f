// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// An app's receipt as stores made them before they signed each transaction: numbered attributes in DER, which a test changes.
package struct TestReceipt: Sendable {
    /// The attributes by number: what is in the octets of each.
    package var attributes: [(number: Int, value: [UInt8])]

    /// The receipt of an app with what was bought in it.
    package init(
        _ now: Instant,
        environment: String = "Production",
        bundle: String = "com.example.reader",
        _ bought: [TestReceipt]
    ) {
        attributes = [
            (0, Self.text(environment)), (2, Self.text(bundle)), (3, Self.text("1.0")), (12, Self.time(now.description)),
        ]
        attributes += bought.map { (17, $0.bytes) }
    }

    private init(_ attributes: [(number: Int, value: [UInt8])]) { self.attributes = attributes }

    /// A month's subscription that was bought at `now`.
    package static func month(_ now: Instant, transaction: String = "2000000001", product: String = "com.example.monthly") -> Self
    {
        purchase(now, transaction, product, kind: 3, until: (now + .seconds(30 * 86_400)).description)
    }

    /// One product that was bought for good.
    package static func single(_ now: Instant, product: String = "issue-1", kind: UInt8 = 0) -> Self {
        purchase(now, "2000000009", product, kind: kind, until: "")
    }

    private static func purchase(_ now: Instant, _ transaction: String, _ product: String, kind: UInt8, until end: String) -> Self
    {
        TestReceipt([
            (1701, value(0x02, [1])), (1702, text(product)), (1703, text(transaction)), (1704, time(now.description)),
            (1705, text(transaction)), (1706, time(now.description)), (1707, value(0x02, [kind])), (1708, time(end)),
            (1711, value(0x02, [0])), (1712, time("")),
        ])
    }

    /// The same with one attribute in place of all with its number; nil removes them.
    package func with(_ number: Int, _ value: [UInt8]?) -> Self {
        var attributes = attributes.filter { $0.number != number }
        if let value { attributes.append((number, value)) }
        return TestReceipt(attributes)
    }

    /// The payload.
    package var bytes: [UInt8] {
        let parts = attributes.map { number, content -> [UInt8] in
            let digits = number < 128 ? [UInt8(number)] : [UInt8(number >> 8), UInt8(number & 0xff)]
            return Self.value(0x30, Self.value(0x02, digits) + Self.value(0x02, [1]) + Self.value(0x04, content))
        }
        return Self.value(0x31, parts.flatMap(\.self))
    }

    package static func text(_ text: String) -> [UInt8] { value(0x0c, Array(text.utf8)) }

    /// A time, or an empty text for none.
    package static func time(_ text: String) -> [UInt8] { value(0x16, Array(text.utf8)) }

    /// A value of a kind (ITU-T X.690 §8.1).
    package static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 0x80 ? [UInt8(count)] : [0x83, UInt8(count >> 16), UInt8(count >> 8 & 0xff), UInt8(count & 0xff)]
        return [tag] + length + content
    }
}

extension TestStore {
    /// Signs a receipt's payload as the App Store does (CMS, RFC 5652 §5).
    ///
    /// - Parameters:
    ///   - payload: any bytes.
    ///   - chain: the names of the certificates that go along, the signer's first.
    ///   - key: the name of the key that signs; the first of the chain when left out.
    ///   - options: of `openssl cms -sign`.
    /// - Returns: the message in DER.
    /// - Throws: what openssl says.
    package func receipt(
        _ payload: [UInt8],
        chain: [String] = ["signer", "authority", "root"],
        key: String? = nil,
        options: [String] = ["-nodetach", "-noattr", "-md", "sha256"]
    ) async throws -> [UInt8] {
        let signer = chain.first ?? "signer"
        let others = chain.dropFirst().compactMap { certificates.directory.read("\($0).pem") }.flatMap(\.self)
        certificates.directory.write("others.pem", others)
        let file = { certificates.directory.file($0) }
        let along = others.isEmpty ? [] : ["-certfile", file("others.pem")]
        return try await certificates.run(
            [
                "cms", "-sign", "-binary", "-outform", "DER", "-signer", file("\(signer).pem"), "-inkey",
                file("\(key ?? signer).key"),
            ]
                + along + options,
            input: payload
        )
    }
}
