// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
internal import CarrelThreads
import Glibc
import Synchronization

/// Bodies requested in one round of the workers' daemons, to be generated together. All workers share one: half the bodies would
/// take as long to encrypt.
///
/// The first exchange of a gathering suspends its connection and resumes it immediately, so that the daemon comes back to it in
/// its next round, when all ready events of this round have been handled; the others wait, on any worker. If it comes back and
/// finds few, it waits for one more round: the clients answered in the last one may be about to send their next requests.
final class BodyBatch: Sendable {
    /// A body in progress: a draft, then finished or failed.
    @safe
    final class Member: @unchecked Sendable {  // one thread makes it, and the exchange's looks at it once `isMade` says so
        /// Resumes the exchange that waits for the body.
        fileprivate let wake: @Sendable () -> Void
        let source: any GroupedBodySource
        let buffer: WriteBuffers.Buffer
        let length: Int
        private let hasEnded = Atomic(false)
        private(set) var error: (any Error)?

        init(
            _ source: any GroupedBodySource,
            _ buffer: WriteBuffers.Buffer,
            length: Int,
            wake: @escaping @Sendable () -> Void
        ) {
            self.wake = wake
            self.source = source
            self.buffer = buffer
            self.length = length
        }

        /// The body, or what will be it.
        var bytes: UnsafeMutableRawBufferPointer {
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<length])
        }

        /// Whether the body is there, or failed.
        var isMade: Bool { hasEnded.load(ordering: .acquiring) }

        fileprivate func end(_ error: (any Error)?) {
            self.error = error
            hasEnded.store(true, ordering: .releasing)
        }
    }

    /// As many as gain from company; more would only wait longer.
    private static let groupSize = 16

    /// As few as are worth another round.
    private static let minimumSize = 4

    private struct State {
        var members: [Member] = []
        var hasWaitedAgain = false

        mutating func take() -> [Member] {
            defer { (members, hasWaitedAgain) = ([], false) }
            return members
        }
    }

    private let state = Locked(State())
    /// Whether others add, too.
    private let isShared: Bool

    init(isShared: Bool) {
        self.isShared = isShared
    }

    /// Adds a draft. Returns whether its exchange is the first, which must come back.
    func add(_ member: Member) -> Bool {
        let (isFirst, full) = state.withLock { state in
            state.members.append(member)
            return (state.members.count == 1, state.members.count >= Self.groupSize ? state.take() : [])
        }
        Self.make(full)
        return isFirst
    }

    /// Handles a returning exchange. Returns whether it must come back again; otherwise all bodies are finished, unless the
    /// exchange is not the first one.
    func comeBack(_ member: Member) -> Bool {
        if isShared, state.withLock({ $0.members.first === member && $0.members.count < Self.groupSize }) {
            // Where workers share a processor, the others have something to add and want it.
            sched_yield()
        }
        let (returnsAgain, members) = state.withLock { state -> (Bool, [Member]) in
            guard state.members.first === member else { return (false, []) }
            if state.members.count < Self.minimumSize, !state.hasWaitedAgain {
                state.hasWaitedAgain = true
                return (true, [])
            }
            return (false, state.take())
        }
        Self.make(members)
        return returnsAgain
    }

    /// An exchange has gone. Others may wait for it to come back.
    func leave(_ member: Member) {
        Self.make(state.withLock { $0.members.first === member ? $0.take() : [] })
    }

    /// Makes bodies, and wakes the exchanges that wait for them.
    private static func make(_ members: [Member]) {
        var remainder = members
        while let first = remainder.first {
            let group = first.source.group
            let isAlike = { (member: Member) in member.source.group === group }
            let alike = remainder.filter(isAlike)
            remainder.removeAll(where: isAlike)
            var failure: (any Error)?
            do { try group.finish(alike.map { unsafe BodyDraft($0.source, bytes: $0.bytes) }) } catch { failure = error }
            for member in alike {
                member.end(failure)
                member.wake()
            }
        }
    }
}
