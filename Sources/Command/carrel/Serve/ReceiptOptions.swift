// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelCrypto
import CarrelEntitlementSources
import CarrelHome
package import CarrelReceipts
import CarrelServer
import CarrelSettings
import Glibc

extension StoreEnvironment: TextValue {}

/// The settings of purchases in an app store.
struct ReceiptOptions: Sendable {
    var roots: String?
    var bundleIDs: [String] = []
    var environments = [StoreEnvironment.production]
    var plans: [String] = []
    var products: [String] = []

    var contradictions: [(setting: String, problem: String)] {
        var found: [(setting: String, problem: String)] = []
        if (roots == nil) != bundleIDs.isEmpty {
            let missing = roots == nil ? "receipts.roots" : "receipts.bundle-ids"
            found.append((missing, "is required too: purchases need both"))
        }
        for text in plans where Self.rule(text) == nil {
            found.append(("receipts.plans", "'\(text)' is not PRODUCT=PLAN or PRODUCT=PLAN/365d"))
        }
        for text in products where Self.pair(text) == nil {
            found.append(("receipts.products", "'\(text)' is not PRODUCT=ID"))
        }
        return found
    }

    /// The service's settings; reads the file of root certificates.
    func service() throws -> ReceiptSettings {
        var made = ReceiptSettings()
        made.products = StoreProducts(
            plans: plans.compactMap(Self.rule),
            products: Dictionary(products.compactMap(Self.pair)) { $1 }
        )
        guard let roots, !bundleIDs.isEmpty else { return made }
        made.verifier = TransactionVerifier(
            roots: try CertificateRoots(try Certificate.all(in: Self.bytes(of: roots))),
            bundleIDs: Set(bundleIDs),
            environments: Set(environments)
        )
        return made
    }

    /// The store's name and its meaning here.
    private static func pair(_ text: String) -> (String, String)? {
        guard let equals = text.firstIndex(of: "="), equals != text.startIndex, text.index(after: equals) != text.endIndex else {
            return nil
        }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }

    /// A plan's name has no slash.
    private static func rule(_ text: String) -> StoreProducts.PlanRule? {
        guard let (product, meaning) = pair(text) else { return nil }
        let parts = meaning.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, !parts[0].isEmpty, !product.dropLast().contains("*") else { return nil }
        guard parts.count == 2 else { return StoreProducts.PlanRule(pattern: product, plan: meaning) }
        guard let life = try? Duration(written: String(parts[1])), life > .zero else { return nil }
        return StoreProducts.PlanRule(pattern: product, plan: String(parts[0]), life: life)
    }

    private static func bytes(of path: String) throws -> [UInt8] {
        guard let file = unsafe fopen(path, "re") else {
            throw ServerError(.notFound, "receipts.roots: \(path) cannot be read")
        }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }
}
