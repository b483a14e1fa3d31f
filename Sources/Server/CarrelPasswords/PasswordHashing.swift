// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
package import CarrelPasswordHash
import CarrelThreads
package import CarrelWebAPI
import Glibc
import Synchronization

/// A pool of one thread per core that hashes and verifies passwords, so that a flood of sign-ins blocks no other work.
package final class PasswordHashing: Sendable {
    /// The result of a verification.
    package struct Verdict: Sendable, Equatable {
        package let isRight: Bool
        /// A new hash to keep, where the kept one costs less than it should.
        package var rehash: String?
    }

    /// Maximum number of waiting jobs; further jobs are refused with a retry.
    private static let queueLimit = 64

    private let parameters: Argon2id.Parameters
    private let threads: BlockingThreadPool
    private let queued = Atomic<Int>(0)
    private let hashed = Atomic<Int>(0)
    /// Checked if there is no account or no password: the cost is equal and the result is always negative.
    private let decoy: Argon2id.Hash

    package init(_ parameters: Argon2id.Parameters = .standard) {
        self.parameters = parameters
        threads = BlockingThreadPool(
            name: "passwords",
            count: max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))),
            limit: 2 * Self.queueLimit
        )
        decoy = .decoy(parameters)
    }

    /// Number of jobs that wait for a thread, or have one.
    package var waiting: Int { queued.load(ordering: .relaxed) }

    /// The number of hashed passwords: the cost of sign-ins, independent of the machine.
    package var hashCount: Int { hashed.load(ordering: .relaxed) }

    /// A place in the queue, held until it is destroyed.
    package struct Place: ~Copyable, Sendable {
        fileprivate let passwords: PasswordHashing

        deinit { passwords.queued.wrappingSubtract(1, ordering: .relaxed) }
    }

    /// Reserves a place before anything is written for a request that would be refused anyway.
    ///
    /// - Throws: 503 `sign-in.busy` when too many wait.
    package func place() throws(RuleError) -> Place {
        let place = Place(passwords: self)
        guard queued.wrappingAdd(1, ordering: .relaxed).oldValue <= Self.queueLimit else {
            threads.countRefusal()
            throw RuleError(
                .unavailable,
                "sign-in.busy",
                "too many sign-ins at the moment: try again",
                retryAfter: 5
            )
        }
        return place
    }

    /// The PHC string of a password.
    package func hash(_ password: String) async throws -> String {
        let (secret, parameters) = (Secret(Array(password.utf8)), parameters)
        let place = try place()
        let text = try await threads.run { [self] in try made(Argon2id.hash(secret, parameters)).text }
        _ = consume place
        return text
    }

    /// Checks a password, at the same cost whether or not there is a hash to check it against.
    package func verify(_ password: String, against text: String?, in place: consuming Place) async throws -> Verdict {
        let (secret, parameters, decoy) = (Secret(Array(password.utf8)), parameters, decoy)
        let verdict = try await threads.run { [self] () -> Verdict in
            guard let text, let hash = Argon2id.Hash(text) else {
                _ = try made(Argon2id.verify(secret, against: decoy))
                return Verdict(isRight: false)
            }
            guard try made(Argon2id.verify(secret, against: hash)) else { return Verdict(isRight: false) }
            let isWeak = hash.parameters.memory < parameters.memory || hash.parameters.passes < parameters.passes
            return Verdict(isRight: true, rehash: isWeak ? try made(Argon2id.hash(secret, parameters)).text : nil)
        }
        _ = consume place
        return verdict
    }

    /// Counts a hash.
    private func made<Result>(_ result: Result) -> Result {
        hashed.wrappingAdd(1, ordering: .relaxed)
        return result
    }
}
