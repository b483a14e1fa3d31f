// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelMedia
import CarrelMediaPlanning
import CarrelMediaSource
import CarrelSavedMedia
import CarrelTesting
import Testing

/// A source that a test saved: planned, fetched piece by piece, and completed.
struct SavedTitle {
    let directory = TemporaryDirectory()
    let key = Secret.random(count: 32)
    let plan: MediaPlan
    private(set) var digests: [SavedPieceName: SavedDigest] = [:]

    static let id = "abcdefghijklmnopqrstuvwxyz"

    /// The folder of the package.
    var folder: String { directory.file(Self.id) }

    /// - Parameters:
    ///   - source: an address, or the path of a file.
    ///   - type: its kind.
    ///   - mode: what is sealed.
    ///   - selection: the tracks that are saved.
    ///   - parameters: facts about the source.
    ///   - isCompleted: whether the package is completed.
    ///   - isFetched: whether a piece is fetched.
    /// - Throws: the errors of the planner and of the writer.
    init(
        _ source: String,
        _ type: MediaSourceType,
        _ mode: SealMode = .keys,
        selection: MediaSelection = MediaSelection(),
        parameters: MediaSourceParameters = MediaSourceParameters(),
        isCompleted: Bool = true,
        isFetched: (SavedPieceName) -> Bool = { _ in true }
    ) async throws {
        let others = [parameters.indexURL, parameters.subtitles?.url].compactMap { $0 }
        let origin = try MediaOrigin(source, others: others, client: HTTPClient(), fields: [:], MediaOrigin.Permissions())
        plan = try await MediaPlanner(origin, type, parameters).plan(selection)
        let writer = try SavedPackageWriter.create(folder: folder, id: Self.id, key: key)
        try writer.plan(
            source: plan.source,
            documents: plan.documents,
            streams: plan.streams,
            mode: mode,
            isProtected: plan.isProtected
        )
        var files: [PieceFile] = []
        for (place, stream) in writer.streams.enumerated() {
            for (piece, name) in zip(stream.pieces, stream.names(stream: place)) where isFetched(name) {
                let file = try writer.file(for: name)
                let bytes = try await origin.open(piece.address, range: piece.range)
                while let next = try await bytes.next() { try file.append(next) }
                digests[name] = try file.finish()
                files.append(file)
            }
        }
        try writer.commit(files)
        if isCompleted { try writer.complete { digests[$0] } }
    }

    /// Opens the package.
    func open() throws -> SavedMedia {
        SavedMedia(try SavedPackage.open(folder: folder, key: key) { [digests] in digests[$0] })
    }
}
