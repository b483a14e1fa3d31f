// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
package import CarrelStore

/// The SQL of the certificate authority.
package enum AuthorityStore {
    /// A key of the authority or the service.
    struct Key: Sendable {
        let id: String
        /// `root`, `devices`, or a use of ``ServiceKeys``.
        let use: String
        /// The time of creation; later than every earlier key's, so the last key is the newest.
        var createdAt: Instant
        let validFrom: Instant
        let validUntil: Instant
        /// In DER; nil for the keys of the service, which the root's document names.
        let certificate: [UInt8]?
        /// A root's certificate, signed by the root before it.
        let rollover: String?
        let wrapped: MasterKeyring.Wrapped

        /// Whether the private key is here. A root's can be kept elsewhere.
        var hasPrivateKey: Bool { !wrapped.bytes.isEmpty }
    }

    /// The keys of the service, signed by the root.
    struct Document: Sendable {
        let number: Int64
        let environment: String
        let text: String
    }

    static let keys = SQL(
        """
        SELECT id, key_use, created_at, valid_from, valid_until, certificate, rollover, master_version, wrapped FROM pki_keys
        ORDER BY created_at, id
        """
    )
    static let insertKey = SQL(
        """
        INSERT INTO pki_keys (id, key_use, created_at, valid_from, valid_until, certificate, rollover, master_version, wrapped)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """
    )
    static let endKey = SQL("UPDATE pki_keys SET valid_until = $2 WHERE id = $1 AND valid_until > $2 AND valid_from <= $2")
    static let certify = SQL("UPDATE pki_keys SET certificate = $2 WHERE id = $1")
    static let newestDocument = SQL("SELECT number, environment, text FROM pki_documents ORDER BY number DESC LIMIT 1")
    static let newestNumber = SQL("SELECT number FROM pki_documents ORDER BY number DESC LIMIT 1")
    static let insertDocument = SQL("INSERT INTO pki_documents (number, environment, signed_at, text) VALUES ($1, $2, $3, $4)")
    static let notUnder = SQL(
        "SELECT id, master_version, wrapped FROM pki_keys WHERE master_version <> $1 AND LENGTH(wrapped) > 0 ORDER BY id LIMIT $2"
    )
    static let rewrap = SQL("UPDATE pki_keys SET master_version = $2, wrapped = $3 WHERE id = $1")

    static let removePrivateKeys = SQL("UPDATE pki_keys SET wrapped = $2 WHERE key_use = $1")

    package static let statements = [
        removePrivateKeys, keys, insertKey, endKey, certify, newestDocument, newestNumber, insertDocument, notUnder, rewrap,
    ]

    static func keys(in transaction: any Transaction) throws -> [Key] {
        try transaction.rows(keys).map { row in
            Key(
                id: try row.text(0),
                use: try row.text(1),
                createdAt: try row.instant(2),
                validFrom: try row.instant(3),
                validUntil: try row.instant(4),
                certificate: try row.blobIfPresent(5),
                rollover: try row.textIfPresent(6),
                wrapped: .init(masterVersion: try row.integer(7), bytes: try row.blob(8))
            )
        }
    }

    static func insert(_ key: Key, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(key.id), .text(key.use), .instant(key.createdAt), .instant(key.validFrom), .instant(key.validUntil),
            SQLValue(key.certificate), SQLValue(key.rollover), .integer(key.wrapped.masterVersion), .blob(key.wrapped.bytes),
        ]
        try transaction.run(insertKey, values)
    }

    /// Ends a key at a time, unless it ends before.
    static func end(_ id: String, at instant: Instant, in transaction: any Transaction) throws {
        try transaction.run(endKey, [.text(id), .instant(instant)])
    }

    /// Gives a key another certificate.
    static func certify(_ id: String, _ certificate: [UInt8], in transaction: any Transaction) throws {
        try transaction.run(certify, [.text(id), .blob(certificate)])
    }

    /// Removes the private keys of all keys of a use. Their certificates stay.
    static func removePrivateKeys(of use: String, in transaction: any Transaction) throws {
        try transaction.run(removePrivateKeys, [.text(use), .blob([])])
    }

    static func document(in transaction: any Transaction) throws -> Document? {
        try transaction.row(newestDocument).map {
            Document(number: try $0.integer(0), environment: try $0.text(1), text: try $0.text(2))
        }
    }

    /// The number of the newest document; 0 if there is none.
    static func number(in transaction: any Transaction) throws -> Int64 {
        try transaction.row(newestNumber).map { try $0.integer(0) } ?? 0
    }

    static func insert(_ document: Document, at now: Instant, in transaction: any Transaction) throws {
        try transaction.run(
            insertDocument,
            [.integer(document.number), .text(document.environment), .instant(now), .text(document.text)]
        )
    }

    static func rewrap(_ id: String, _ key: MasterKeyring.Wrapped, in transaction: any Transaction) throws {
        try transaction.run(rewrap, [.text(id), .integer(key.masterVersion), .blob(key.bytes)])
    }
}
