// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelJOSE
import CarrelJSON

/// Verifies signed transactions, and receipts of older apps, without a request to the store: their certificates must chain to a
/// root that the operator trusts.
///
/// The certificates must be valid at the signing time in the payload, which must not be in the future: an app may keep a
/// transaction, and it remains true. Later events, such as a refund, are in payloads that are signed later.
package struct TransactionVerifier: Sendable {
    /// The extension in the certificate of the App Store's own signer (Apple's certificate extension for receipt signing).
    package static let leafMarker = "1.2.840.113635.100.6.11.1"
    /// The extension in the certificate above it (Apple Worldwide Developer Relations).
    package static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    /// How far the store's clock and ours may be apart.
    static let skew = Duration.seconds(120)

    package let bundleIDs: Set<String>
    package let environments: Set<StoreEnvironment>
    package let roots: CertificateRoots

    /// - Parameters:
    ///   - roots: the trusted roots; none is built in.
    ///   - bundleIDs: the apps whose purchases are accepted.
    ///   - environments: the accepted environments; only production, except on a test server.
    package init(roots: CertificateRoots, bundleIDs: Set<String>, environments: Set<StoreEnvironment> = [.production]) {
        self.roots = roots
        self.bundleIDs = bundleIDs
        self.environments = environments
    }

    /// Reads a signed transaction.
    ///
    /// - Parameters:
    ///   - text: a JWS in the compact form, with its certificates in `x5c`.
    ///   - now: the time.
    /// - Returns: the transaction, from an accepted app and environment.
    /// - Throws: ``ReceiptError``.
    package func transaction(_ text: some StringProtocol, at now: Instant) throws(ReceiptError) -> StoreTransaction {
        let transaction = try StoreTransaction(try verified(text, at: now))
        try check(bundleID: transaction.bundleID, transaction.environment)
        return transaction
    }

    /// Reads a signed notification and the transaction in it, which is signed by itself.
    ///
    /// - Throws: ``ReceiptError``.
    package func notification(_ text: some StringProtocol, at now: Instant) throws(ReceiptError) -> StoreNotification {
        let object = try verified(text, at: now)
        let type = try SignedMembers.text("notificationType", of: object)
        guard let data = object["data"]?.object else { return StoreNotification(type: type, transaction: nil) }
        let word = try SignedMembers.text("environment", of: data)
        guard let environment = StoreEnvironment(rawValue: word) else {
            throw ReceiptError(.environment, "it is of an environment that no store has")
        }
        try check(bundleID: try SignedMembers.text("bundleId", of: data), environment)
        guard let inner = data["signedTransactionInfo"] else { return StoreNotification(type: type, transaction: nil) }
        guard let inner = inner.string else { throw ReceiptError(.malformed, "signedTransactionInfo is not a text") }
        return StoreNotification(type: type, transaction: try transaction(inner, at: now))
    }

    /// Reads the receipt of an app: PKCS #7, the format before signed transactions.
    ///
    /// - Parameters:
    ///   - bytes: the file, in DER.
    ///   - now: the time.
    /// - Returns: the purchases in the receipt, from an accepted app and environment; empty if there are none.
    /// - Throws: ``ReceiptError``.
    package func receipt(_ bytes: [UInt8], at now: Instant) throws(ReceiptError) -> [StoreTransaction] {
        let message: SignedMessage
        do throws(CryptoError) {
            message = try SignedMessage(der: bytes)
        } catch {
            throw ReceiptError(error.code == .message ? .malformed : .untrusted, error.description)
        }
        let receipt = try AppReceipt(message.content)
        guard receipt.createdAt <= now + Self.skew else {
            throw ReceiptError(.untrusted, "it says that it was made in the future")
        }
        do throws(CryptoError) {
            try roots.verify(
                signer: message.signer,
                through: message.certificates,
                at: receipt.createdAt,
                leafMarker: Self.leafMarker,
                intermediateMarker: Self.intermediateMarker
            )
        } catch {
            throw ReceiptError(.untrusted, "it is not to be trusted: \(error)")
        }
        try check(bundleID: receipt.bundleID, receipt.environment)
        return receipt.transactions
    }

    private func check(bundleID: String, _ environment: StoreEnvironment) throws(ReceiptError) {
        guard bundleIDs.contains(bundleID) else { throw ReceiptError(.bundle, "it is of another app") }
        guard environments.contains(environment) else {
            throw ReceiptError(
                .environment,
                "it is of the environment \(environment.rawValue), which does not count here",
                environment: environment
            )
        }
    }

    /// The payload's members once the signature is known to be right.
    private func verified(_ text: some StringProtocol, at now: Instant) throws(ReceiptError) -> JSONObject {
        let unverified: JWS.Unverified
        do throws(JOSEError) {
            unverified = try JWS.Unverified(text)
        } catch {
            throw ReceiptError(.malformed, "it is no signed object: \(error)")
        }
        let limits = JSONLimits(depth: 8, byteCount: JWS.maxByteCount)
        guard let object = try? JSON.parse(unverified.unverifiedPayload.rawSpan, limits: limits).object else {
            throw ReceiptError(.malformed, "its payload is no JSON object")
        }
        let signedAt = try SignedMembers.instant("signedDate", of: object)
        guard signedAt <= now + Self.skew else { throw ReceiptError(.untrusted, "it says that it was signed in the future") }
        do throws(JOSEError) {
            _ = try unverified.verified(
                through: roots,
                at: signedAt,
                leafMarker: Self.leafMarker,
                intermediateMarker: Self.intermediateMarker
            )
        } catch {
            throw ReceiptError(.untrusted, "it is not to be trusted: \(error)")
        }
        return object
    }
}
