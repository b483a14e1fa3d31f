// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
package import CarrelStore

/// Subjects under which readers of upstream systems are stored: keyed hashes, which reveal no name.
package struct UpstreamSubjects: Sendable {
    private let fingerprint: HMACSHA256

    /// - Parameter secret: the key of 32 bytes for the HMACs of tokens and names, which are stored instead of them.
    init(secret: Secret) {
        fingerprint = HMACSHA256(key: secret)
    }

    func hash(of token: String, from source: String) -> [UInt8] { mac("token", source, token) }

    /// The subject of a sign-in name.
    func subject(named name: String, from source: String) -> String { subject("name", source, name.lowercased()) }

    /// The subject of a reader known only by a token.
    func subject(ofToken token: String, from source: String) -> String { subject("token", source, token) }

    /// The subjects of a name at every current or former upstream source.
    func all(named name: String, in transaction: any Transaction) throws -> [String] {
        try UpstreamStore.sources(in: transaction).map { subject(named: name, from: $0) }
    }

    private func subject(_ kind: String, _ source: String, _ text: String) -> String {
        "\(source)/\(Base64URL.encode(mac("subject-\(kind)", source, text).prefix(16)))"
    }

    private func mac(_ purpose: String, _ source: String, _ text: String) -> [UInt8] {
        var message: [UInt8] = []
        for part in [purpose, source, text] { message += "\(part.utf8.count):\(part)".utf8 }
        return fingerprint.authenticate(message.rawSpan)
    }
}

/// Deletes the cached data of upstream systems about an erased person.
extension UpstreamSubjects: AccountParticipant {
    package func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        if case .erased(let name) = change {
            for subject in try all(named: name, in: transaction) { try UpstreamStore.delete(subject, in: transaction) }
        }
        return []
    }
}
