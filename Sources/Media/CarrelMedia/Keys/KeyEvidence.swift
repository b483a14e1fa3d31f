// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelThreads

/// The keys that decrypted something, and the keys that the clear bytes have shown to be right. Copies of a ``ContentKeys`` share one.
package final class KeyEvidence: Sendable {
    private struct Findings {
        /// The name of each use of a key, by the digest of the key and its use.
        var used: [[UInt8]: String] = [:]
        var verified: Set<[UInt8]> = []
    }

    /// Bits of evidence that a wrong key has once in a million keys.
    static let certainty = 20
    /// Names of used keys at most.
    private static let limit = 1 << 16

    private let findings = Locked(Findings())

    package init() {}

    /// The names of the used keys that no check has shown to be right, sorted.
    package var unverified: [String] {
        findings.withLock { findings in findings.used.filter { !findings.verified.contains($0.key) }.map(\.value).sorted() }
    }

    /// Records that a key decrypts something.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - place: its use: a key that is right for one key ID may be given for another, for which it is wrong.
    ///   - words: its name in a message.
    /// - Returns: the digest of the key and its use, for ``verify(_:)``.
    package func use(_ key: Secret, for place: [UInt8] = [], _ words: @autoclosure () -> String) -> [UInt8] {
        let digest = key.withBytes { SHA256.hash($0) } + place
        let isNew = findings.withLock { $0.used[digest] == nil }
        if isNew {
            let words = words()
            findings.withLock { findings in
                guard findings.used.count < Self.limit else { return }
                findings.used[digest] = words
            }
        }
        return digest
    }

    /// Notes that clear bytes have shown a key to be right.
    package func verify(_ digest: [UInt8]) { findings.withLock { _ = $0.verified.insert(digest) } }
}
