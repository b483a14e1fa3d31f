// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads

/// Caps the connections of all transfers, in total and for each host.
final class ConnectionSlots: Sendable {
    private struct Waiter: Sendable {
        let number: Int
        let host: String
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State: Sendable {
        var total: Int
        var perHost: Int
        var used = 0
        var usedByHost: [String: Int] = [:]
        var waiters: [Waiter] = []
        var next = 0

        func hasRoom(_ host: String) -> Bool { used < total && usedByHost[host, default: 0] < perHost }

        mutating func take(_ host: String) {
            used += 1
            usedByHost[host, default: 0] += 1
        }

        /// The waiters that can start now, in their order.
        mutating func admit() -> [Waiter] {
            var admitted: [Waiter] = []
            var index = 0
            while index < waiters.count, used < total {
                if hasRoom(waiters[index].host) {
                    let waiter = waiters.remove(at: index)
                    take(waiter.host)
                    admitted.append(waiter)
                } else {
                    index += 1
                }
            }
            return admitted
        }
    }

    private let state: Locked<State>

    init(total: Int, perHost: Int) {
        state = Locked(State(total: total, perHost: perHost))
    }

    func setLimits(total: Int, perHost: Int) {
        resume(
            state.withLock { state in
                (state.total, state.perHost) = (total, perHost)
                return state.admit()
            }
        )
    }

    /// Runs a transfer to a host when there is a slot for it.
    ///
    /// - Throws: `CancellationError`, and the errors of `body`.
    func withSlot<Result: Sendable>(_ host: String, _ body: () async throws -> Result) async throws -> Result {
        guard await take(host) else { throw CancellationError() }
        defer { giveBack(host) }
        return try await body()
    }

    private func take(_ host: String) async -> Bool {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    if state.hasRoom(host) {
                        state.take(host)
                        return true
                    }
                    state.waiters.append(Waiter(number: number, host: host, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }

    private func giveBack(_ host: String) {
        resume(
            state.withLock { state in
                state.used -= 1
                state.usedByHost[host, default: 1] -= 1
                if state.usedByHost[host] == 0 { state.usedByHost[host] = nil }
                return state.admit()
            }
        )
    }

    private func resume(_ waiters: [Waiter]) {
        for waiter in waiters { waiter.continuation.resume(returning: true) }
    }

    /// The host and port of an address; empty for a file.
    static func host(_ address: String) -> String { URIReference(address).authority?.lowercased() ?? "" }
}
