// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelRights
package import CarrelStore
import CarrelThreads

extension Authority {
    /// The numbers that devices compare: of the newest document of keys, and of the newest list of revocations.
    package struct Numbers: Sendable {
        package var keys: Int64
        package var revocations: Int64

        package init(keys: Int64 = 0, revocations: Int64 = 0) {
            (self.keys, self.revocations) = (keys, revocations)
        }
    }

    /// The numbers of a database.
    package static func numbers(in transaction: any Transaction) throws -> Numbers {
        Numbers(
            keys: max(try AuthorityStore.number(in: transaction), try PlayerStore.number(keysNumber, in: transaction)),
            revocations: try PlayerStore.revocationNumber(in: transaction)
        )
    }

    /// Raises the numbers of a restored database above everything that devices can have seen. The next start signs a document of keys with
    /// the new number: that needs the master key, which may be missing now.
    ///
    /// - Parameters:
    ///   - replaced: the numbers of the replaced database; zero if it cannot be read.
    ///   - now: the time. Its seconds are larger than every number that counts single changes.
    ///   - transaction: the transaction.
    /// - Throws: the database's error.
    package static func raiseNumbers(above replaced: Numbers, at now: Instant, in transaction: any Transaction) throws {
        let own = try numbers(in: transaction)
        let seconds = now.milliseconds / 1000
        func next(_ own: Int64, _ other: Int64) -> Int64 { max(own + 1, other + 1, seconds) }
        try PlayerStore.raise("revocations", to: next(own.revocations, replaced.revocations), in: transaction)
        // An authority that was never made has no devices.
        guard own.keys > 0 else { return }
        try PlayerStore.raise(keysNumber, to: next(own.keys, replaced.keys), in: transaction)
    }

    /// The name of the number that the next document of keys has at least.
    static let keysNumber = "keys"

    /// Signs the document of keys again if a restore raised its number. While the root's key is kept elsewhere, the document stays.
    func signAfterRestore() async throws {
        let now = clock.now.wholeSecond
        let master = master
        let isDue = try await database.read { transaction in
            try AuthorityStore.number(in: transaction) < PlayerStore.number(Self.keysNumber, in: transaction)
        }
        guard isDue else { return }
        try await database.write { transaction in
            let number = try PlayerStore.number(Self.keysNumber, in: transaction)
            // Another process may have signed it first.
            guard let document = try AuthorityStore.document(in: transaction), document.number < number else { return }
            let rows = try AuthorityStore.keys(in: transaction)
            guard let root = try Keys(rows, document, master, at: now).rootKey else { return }
            let signed = try Self.document(
                rows,
                environment: document.environment,
                number: number,
                root: root,
                master.current,
                at: now
            )
            try AuthorityStore.insert(signed, at: now, in: transaction)
        }
        keyCache.invalidateAll()
    }
}
