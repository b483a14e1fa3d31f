// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelSavedMedia

/// The versions of the resources of which several pieces are parts: ranges of two versions make no medium.
actor ResourceVersions {
    /// The number of the resource of each piece that is a range. Numbers follow the order of the plan, not the addresses.
    private let numbers: [SavedPieceName: Int]
    private var versions: [Int: ResourceVersion]
    private let record: @Sendable (Int, ResourceVersion) async throws -> Void

    /// - Parameters:
    ///   - streams: the streams of the package.
    ///   - versions: those that are known from earlier transfers.
    ///   - record: makes a version durable.
    init(
        _ streams: [SavedStream],
        _ versions: [Int: ResourceVersion],
        record: @escaping @Sendable (Int, ResourceVersion) async throws -> Void
    ) {
        var numbers: [SavedPieceName: Int] = [:]
        var resources: [String: Int] = [:]
        for (index, stream) in streams.enumerated() {
            for (name, piece) in zip(stream.names(stream: index), stream.pieces) where piece.range != nil {
                let number = resources[piece.address] ?? resources.count
                resources[piece.address] = number
                numbers[name] = number
            }
        }
        self.numbers = numbers
        self.versions = versions
        self.record = record
    }

    /// Checks that a response is of the version that was saved first.
    ///
    /// - Throws: `download.changed`; the error of `record`.
    func check(_ stream: OriginStream, of name: SavedPieceName) async throws {
        guard let number = numbers[name] else { return }
        let version = ResourceVersion(validator: stream.validator, length: stream.totalLength)
        if let known = versions[number] {
            guard known.matches(version) else {
                throw DownloadError(.changed, "\(stream.name) has changed since the download began")
            }
            return
        }
        versions[number] = version
        try await record(number, version)
    }
}
