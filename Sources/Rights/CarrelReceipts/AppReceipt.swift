// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The payload of an app's receipt: about the app, and of each thing that was bought in it, a set of numbered attributes (Apple,
/// "Validating receipts on the device"; the numbers that are not in it, 0 and 1707, as receipts have them).
package struct AppReceipt {
    package let environment: StoreEnvironment
    /// The app.
    package let bundleID: String
    package let transactions: [StoreTransaction]
    /// When the store made and signed it.
    package let createdAt: Instant

    /// The most purchases that are read.
    static let maxCount = 500

    /// - Throws: `receipt.malformed` for a value that no store issues, `receipt.environment` for an unknown environment.
    package init(_ payload: [UInt8]) throws(ReceiptError) {
        let receipt = try Attributes(payload[...])
        switch try receipt.text(0, "the environment") {
        case "Production", "ProductionVPP": environment = .production
        case "Sandbox", "ProductionSandbox": environment = .sandbox
        default: throw ReceiptError(.environment, "it is of an environment that no store has")
        }
        bundleID = try receipt.text(2, "the app")
        createdAt = try receipt.instant(12, "the time of its making")
        guard receipt.purchases.count <= Self.maxCount else { throw ReceiptError(.malformed, "it has too many purchases") }
        var transactions: [StoreTransaction] = []
        for bytes in receipt.purchases {
            transactions.append(try Self.transaction(try Attributes(bytes), environment, bundleID, createdAt))
        }
        self.transactions = transactions
    }

    private static func transaction(
        _ purchase: Attributes,
        _ environment: StoreEnvironment,
        _ bundleID: String,
        _ createdAt: Instant
    ) throws(ReceiptError) -> StoreTransaction {
        let end = try purchase.instantIfPresent(1708, "the end")
        let kind = try purchase.kind(1707) ?? (end == nil ? .other : .autoRenewable)
        guard kind != .autoRenewable || end != nil else { throw ReceiptError(.malformed, "a subscription has no end") }
        return StoreTransaction(
            environment: environment,
            bundleID: bundleID,
            productID: try purchase.text(1702, "the product"),
            kind: kind,
            transactionID: try purchase.text(1703, "the transaction"),
            originalID: try purchase.text(1705, "the original transaction"),
            purchasedAt: try purchase.instant(1704, "the time of the purchase"),
            expiresAt: end,
            revokedAt: try purchase.instantIfPresent(1712, "the time of the refund"),
            signedAt: createdAt
        )
    }

    /// A set of attributes, each with a number, a version and a value. Attributes that are not read may have any value.
    private struct Attributes {
        private var values: [Int: ArraySlice<UInt8>] = [:]
        /// The values of attribute 17, the only one that may repeat.
        private(set) var purchases: [ArraySlice<UInt8>] = []

        init(_ bytes: ArraySlice<UInt8>) throws(ReceiptError) {
            var set = DERReader(try DERReader.only(DERReader.set, in: bytes))
            while !set.isAtEnd {
                var attribute = DERReader(try set.next(DERReader.sequence))
                let number = try attribute.number()
                _ = try attribute.number()
                let value = try attribute.next(DERReader.octets)
                guard attribute.isAtEnd else { throw DERReader.malformed }
                if number == 17 {
                    purchases.append(value)
                } else if values.updateValue(value, forKey: number) != nil, AppReceipt.known.contains(number) {
                    throw ReceiptError(.malformed, "it says attribute \(number) twice")
                }
            }
        }

        func text(_ number: Int, _ name: String) throws(ReceiptError) -> String {
            guard let value = values[number] else { throw ReceiptError(.malformed, "\(name) is missing") }
            let content = try DERReader.only(DERReader.utf8, in: value)
            guard let text = SignedMembers.text(content) else { throw ReceiptError(.malformed, "\(name) is not an identifier") }
            return text
        }

        func instant(_ number: Int, _ name: String) throws(ReceiptError) -> Instant {
            guard let instant = try instantIfPresent(number, name) else { throw ReceiptError(.malformed, "\(name) is missing") }
            return instant
        }

        /// Reads an RFC 3339 time; nil if it is empty.
        func instantIfPresent(_ number: Int, _ name: String) throws(ReceiptError) -> Instant? {
            guard let value = values[number] else { return nil }
            let content = try DERReader.only(DERReader.ia5, in: value)
            if content.isEmpty { return nil }
            guard content.count <= 40, let instant = Instant.parse(String(decoding: content, as: UTF8.self)) else {
                throw ReceiptError(.malformed, "\(name) is not a time")
            }
            return instant
        }

        func kind(_ number: Int) throws(ReceiptError) -> StoreTransaction.Kind? {
            guard let value = values[number] else { return nil }
            var reader = DERReader(value)
            let kinds: [StoreTransaction.Kind] = [.nonConsumable, .consumable, .nonRenewing, .autoRenewable]
            let word = try reader.number()
            return kinds.indices.contains(word) ? kinds[word] : .other
        }
    }

    private static let known: Set = [0, 2, 12, 1702, 1703, 1704, 1705, 1707, 1708, 1712]
}
