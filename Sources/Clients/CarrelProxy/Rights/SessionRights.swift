// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource
import CarrelThreads

/// The rights of a session with an MS3 address: redeemed with its first request, once.
final class SessionRights: SessionKeySource {
    private struct State {
        var redeeming: Task<StreamRights, any Error>?
        var granted: StreamRights?
        /// Calls of the source that the end of a proxy waits for.
        var calls: [UInt64: Task<Void, Never>] = [:]
        var serial: UInt64 = 0
        var isEnded = false
    }

    private let url: MS3URL
    private let source: any RightsSource
    private let client: any MediaHTTPClient
    private let limit: Duration
    private let clock: MonotonicClock
    private let state = Locked(State())

    /// - Parameters:
    ///   - url: the address with the token.
    ///   - source: redeems it.
    ///   - client: sends its requests.
    ///   - limit: the longest time that this takes.
    ///   - clock: measures it.
    init(
        _ url: MS3URL,
        _ source: any RightsSource,
        _ client: any MediaHTTPClient,
        limit: Duration = .seconds(60),
        clock: MonotonicClock = .system
    ) {
        self.url = url
        self.source = source
        self.client = client
        self.limit = limit
        self.clock = clock
    }

    /// Returns the rights.
    ///
    /// - Returns: the same at every call. A refusal is final: the token is not redeemed again.
    /// - Throws: ``ProxyError``: `proxy.refused-key`, `proxy.unavailable`.
    @discardableResult
    func redeemed() async throws(ProxyError) -> StreamRights {
        let task: Task<StreamRights, any Error>
        task = try state.withLock { state throws(ProxyError) in
            guard !state.isEnded else { throw ProxyError(.ended, "the session has ended") }
            if let known = state.redeeming { return known }
            let task = Task { try await self.redeem() }
            state.redeeming = task
            return task
        }
        do { return try await task.value } catch {
            let error = ProxyError(error, in: "the rights")
            // a failure is not a refusal; another request may have started again
            if error.code == .unavailable { state.withLock { if $0.redeeming == task { $0.redeeming = nil } } }
            throw error
        }
    }

    private func redeem() async throws -> StreamRights {
        switch await answer() {
        case .granted(let rights):
            let isLate = state.withLock { state in
                if !state.isEnded { state.granted = rights }
                return state.isEnded
            }
            if isLate {
                call { await rights.release() }
                throw ProxyError(.ended, "the session has ended")
            }
            if let unknown = rights.unknown {
                throw ProxyError(
                    .refusedKey,
                    "the rights have the critical extension '\(url.withoutToken(unknown.type))', which is not known here"
                )
            }
            return rights
        case .refused(let reason): throw ProxyError(.refusedKey, "the rights are refused: \(url.withoutToken(reason))")
        case .unavailable(let reason):
            var error = ProxyError(.unavailable, "the rights service gives no answer: \(url.withoutToken(reason))")
            error.isTransient = true
            throw error
        }
    }

    /// The response of the source, or a timeout: an app's own source may never return.
    private func answer() async -> RightsAnswer {
        let (signal, done) = AsyncStream<Void>.makeStream()
        let slot = Locked(Answer.awaited)
        let asking = call { [self] in
            let answer = await source.redeem(url, client: client)
            let isLate = !slot.withLock { $0.take(answer) }
            done.finish()
            // this one was cancelled
            if isLate, case .granted(let rights) = answer { call { await rights.release() } }
        }
        let timer = Task { [limit, clock] in
            try await clock.sleep(for: limit)
            _ = slot.withLock { $0.take(.unavailable("it took longer than \(limit.components.seconds) s")) }
            done.finish()
        }
        defer {
            timer.cancel()
            asking.cancel()
        }
        await withTaskCancellationHandler {
            for await _ in signal {}
        } onCancel: {
            asking.cancel()
        }
        return slot.withLock { slot in
            _ = slot.take(.unavailable("the session has ended"))
            guard case .given(let answer) = slot else { return .unavailable("the session has ended") }
            return answer
        }
    }

    /// The first response, which decides.
    private enum Answer {
        case awaited
        case given(RightsAnswer)

        mutating func take(_ answer: RightsAnswer) -> Bool {
            guard case .awaited = self else { return false }
            self = .given(answer)
            return true
        }
    }

    func key(_ name: ContentKeyName, for use: KeyUse) async -> ContentKeyAnswer { await key(anyOf: [name], for: use).answer }

    func key(anyOf names: [ContentKeyName], for use: KeyUse) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        let rights: StreamRights
        do throws(ProxyError) { rights = try await redeemed() } catch {
            use.note(error)
            return (.refused(error.message), names.first)
        }
        let (answer, name) = await rights.keys.key(anyOf: names)
        switch answer {
        case .granted(var grant):
            grant.relaxesOutput = grant.relaxesOutput && rights.relaxesOutput
            grant.end = ContentKeyEnd(firstOf: [grant.end, rights.end])
            return (.granted(grant), name)
        case .refused(let reason): return (.refused(url.withoutToken(reason)), name)
        case .pending, .unknown: return (answer, name)
        }
    }

    /// Calls the source. What such a call takes is not in the hands of the proxy.
    @discardableResult
    private func call(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        state.withLock { state in
            state.serial &+= 1
            let serial = state.serial
            let task = Task {
                await body()
                self.state.withLock { _ = $0.calls.removeValue(forKey: serial) }
            }
            state.calls[serial] = task
            return task
        }
    }

    /// Starts to release the rights.
    func end() {
        let (task, rights) = state.withLock { state in
            state.isEnded = true
            return (state.redeeming, state.granted.take())
        }
        if let rights { call { await rights.release() } }
        task?.cancel()
    }

    /// Returns after the rights are released, including late ones. Cancelling the task cancels the calls of the source.
    func released() async {
        await withTaskCancellationHandler {
            _ = await state.withLock { $0.redeeming }?.result
            while let task = state.withLock({ $0.calls.values.first }) { await task.value }
        } onCancel: {
            for task in state.withLock({ Array($0.calls.values) }) { task.cancel() }
        }
    }
}
