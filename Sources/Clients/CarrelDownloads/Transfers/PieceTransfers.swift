// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTPClient
import CarrelMediaSource
import CarrelSavedMedia
import CarrelThreads

/// Transfers the missing pieces of an item, several at a time, each until it succeeds or fails for good.
struct PieceTransfers: Sendable {
    private struct Todo: Sendable {
        var pieces: ArraySlice<(name: SavedPieceName, piece: SavedPiece)>
        /// Pieces that are present in part.
        var partials: [SavedPieceName: PartialPiece]
    }

    /// Attempts with a new address after a refusal.
    private static let refreshLimit = 2

    private let origin: MediaOrigin
    private let writer: SavedPackageWriter
    private let addresses: PlanAddresses
    private let committer: PieceCommitter
    private let context: TransferContext
    private let limits: ItemLimits
    private let pace: TransferPace
    private let versions: ResourceVersions
    private let record: Record
    private let todo: Locked<Todo>

    /// Reports of a transfer to the journal and the queue.
    struct Record: Sendable {
        /// Records that a part of a piece is durable, or that the piece starts again.
        let partial: @Sendable (SavedPieceName, PartialPiece?) async throws -> Void
        /// Counts bytes that arrive, against the limits of the item.
        let bytes: @Sendable (Int) throws -> Void
    }

    /// - Parameters:
    ///   - missing: the pieces to transfer, in their order.
    ///   - partials: pieces that are present in part.
    ///   - versions: the versions of their resources.
    ///   - origin: has the media.
    ///   - addresses: the addresses of the pieces.
    ///   - writer: the package.
    ///   - committer: makes finished pieces durable.
    ///   - context: threads and limits of all transfers.
    ///   - limits: the limits of the item.
    ///   - pace: times and attempts.
    ///   - record: reports to the journal and the queue.
    init(
        _ missing: [(name: SavedPieceName, piece: SavedPiece)],
        partials: [SavedPieceName: PartialPiece],
        versions: ResourceVersions,
        from origin: MediaOrigin,
        addresses: PlanAddresses,
        to writer: SavedPackageWriter,
        committer: PieceCommitter,
        context: TransferContext,
        limits: ItemLimits,
        pace: TransferPace,
        record: Record
    ) {
        todo = Locked(Todo(pieces: missing[...], partials: partials))
        self.origin = origin
        self.addresses = addresses
        self.writer = writer
        self.committer = committer
        self.context = context
        self.limits = limits
        self.pace = pace
        self.versions = versions
        self.record = record
    }

    /// Transfers all pieces; the first that fails ends the others. Pieces that are complete by then are kept, also if the task is
    /// cancelled.
    ///
    /// - Throws: ``DownloadError``, `CancellationError`.
    func run() async throws {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<ItemLimits.workers { group.addTask { try await work(worker) } }
                for try await _ in group {}
            }
        } catch {
            try? await committer.finish()
            throw error
        }
        try await committer.finish()
    }

    private func work(_ worker: Int) async throws {
        while true {
            try Task.checkCancellation()
            guard worker < limits.connections else {
                if todo.withLock({ $0.pieces.isEmpty }) { return }
                try await Task.sleep(for: .milliseconds(200))
                continue
            }
            guard let (name, piece) = todo.withLock({ $0.pieces.popFirst() }) else { return }
            try await transfer(name, piece)
        }
    }

    private func transfer(_ name: SavedPieceName, _ piece: SavedPiece) async throws {
        var backoff = Backoff(pace)
        var refreshes = 0
        while true {
            let progress = todo.withLock { $0.partials[name]?.length ?? 0 }
            let (address, generation) = await addresses.address(of: name)
            do {
                return try await context.slots.withSlot(ConnectionSlots.host(address)) {
                    try await receive(name, piece, from: address)
                }
            } catch {
                if Task.isCancelled { throw CancellationError() }
                // a connection that breaks again and again, but brings bytes each time, does not count as failing
                if todo.withLock({ $0.partials[name]?.length ?? 0 }) > progress { backoff.reset() }
                switch TransferFailure(error) {
                case .transient(let error):
                    guard let pause = backoff.next(atLeast: error.pause) else { throw error }
                    try await Task.sleep(for: pause)
                case .expired(let error):
                    guard refreshes < Self.refreshLimit else { throw error }
                    refreshes += 1
                    try await refresh(after: generation)
                case .final(let error): throw error
                }
            }
        }
    }

    /// Loads the playlist again, with pauses if its server does not respond.
    private func refresh(after generation: Int) async throws {
        var backoff = Backoff(pace)
        while true {
            do { return try await addresses.refresh(after: generation) } catch {
                if Task.isCancelled { throw CancellationError() }
                let failure = TransferFailure(error)
                guard case .transient(let transient) = failure, let pause = backoff.next(atLeast: transient.pause) else {
                    throw failure.error
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    private func receive(_ name: SavedPieceName, _ piece: SavedPiece, from address: String) async throws {
        let partial = todo.withLock { $0.partials[name] }
        let remains = try partial.flatMap { try writer.remains(of: name, upTo: $0.length) }
        var continuation: MediaOrigin.Continuation?
        if let partial, let remains, remains.length > 0 {
            continuation = MediaOrigin.Continuation(offset: remains.length, validator: partial.validator)
        }
        let (stream, offset) = try await origin.openTransfer(
            address,
            range: piece.range,
            continuing: continuation,
            limits: [context.bandwidth, limits.bandwidth],
            named: Self.shown(name, address)
        )
        let file: PieceFile
        if let remains, offset > 0 {
            file = remains
        } else {
            remains?.suspend()
            if partial != nil {
                // before its bytes are replaced
                try await record.partial(name, nil)
                todo.withLock { $0.partials[name] = nil }
            }
            file = try writer.file(for: name)
        }
        do {
            try await versions.check(stream, of: name)
            try await receive(stream, after: offset, piece, into: file)
            let digest = try file.finish()
            todo.withLock { $0.partials[name] = nil }
            try await committer.add(file, digest)
        } catch {
            stream.cancel()
            // the bytes that were received are continued, if the server names the version
            if let validator = stream.validator, !file.isSealed, file.length > 0 {
                todo.withLock { $0.partials[name] = PartialPiece(validator: validator, length: file.length) }
                file.suspend()
            } else {
                file.discard()
            }
            throw error
        }
    }

    private func receive(_ stream: OriginStream, after offset: Int64, _ piece: SavedPiece, into file: PieceFile) async throws {
        var count = offset
        var noted = ContinuousClock.now
        while let bytes = try await stream.next() {
            try Task.checkCancellation()
            try record.bytes(bytes.count)
            count += Int64(bytes.count)
            guard count <= piece.range.map({ Int64($0.count) }) ?? Self.byteLimit else {
                throw ProxyError(
                    .wrongLength,
                    "\(stream.name): the server returned more than \(count - Int64(bytes.count)) bytes"
                )
            }
            try file.append(bytes)
            if noted.duration(to: .now) > pace.partialTime, let validator = stream.validator, !file.isSealed {
                let length = try file.sync()
                try await record.partial(file.name, PartialPiece(validator: validator, length: length))
                noted = .now
            }
        }
        if let range = piece.range, count != range.count {
            throw ProxyError(.wrongLength, "\(stream.name): the server returned \(count) bytes instead of \(range.count)")
        }
    }

    /// Bytes of a piece without a range, at most.
    private static let byteLimit: Int64 = 8 << 30

    /// A piece as errors show it: its address may contain a ticket.
    private static func shown(_ name: SavedPieceName, _ address: String) -> String {
        let kind = name.isInitialization ? "initialization" : "segment"
        let host = ConnectionSlots.host(address)
        return "\(kind) \(name.number) of stream \(name.stream)" + (host.isEmpty ? "" : " from \(host)")
    }
}
