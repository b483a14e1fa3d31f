// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelSavedMedia
import CarrelStore

/// A row of the journal: everything about an item that can be read without the vault, and its sealed source.
struct JournalRow: Sendable {
    var item: DownloadItem
    let sealed: [UInt8]
    let seal: DownloadSettings.Seal
    let limits: DownloadLimits
    let requirements: DownloadRequirements
    /// When the keys are renewed in the background; nil if they are not.
    let renewsAt: Instant?
    /// When it was last played.
    let usedAt: Instant
    /// Whether its package has a plan.
    let isPlanned: Bool
    /// Whether its licenses are returned when it is removed.
    let givesBack: Bool
    /// The digest of its plan without addresses; nil before it is planned.
    let fingerprint: [UInt8]?

    /// Reads all columns in the order of the table.
    init(_ row: Row) throws {
        guard let state = DownloadState(rawValue: try row.text(4)), let seal = DownloadSettings.Seal(rawValue: try row.text(10)),
            let network = DownloadRequirements.Network(rawValue: try row.text(13))
        else { throw DownloadError(.journal, "the journal of downloads has a row of a newer version") }
        item = DownloadItem(id: try row.text(0), title: try row.text(1), state: state)
        sealed = try row.blob(3)
        item.reason = try row.textIfPresent(5)
        item.message = try row.textIfPresent(6)
        item.isRetryable = try row.flag(7)
        item.priority = Int(try row.integer(8))
        item.isPinned = try row.flag(9)
        self.seal = seal
        limits = DownloadLimits(
            bytesPerSecond: try row.integerIfPresent(11).map { Int($0) },
            connections: try row.integerIfPresent(12).map { Int($0) }
        )
        var requirements = DownloadRequirements()
        requirements.network = network
        requirements.needsCharging = try row.flag(14)
        requirements.freeSpace = try row.integer(15)
        self.requirements = requirements
        item.done = try row.integer(16)
        item.total = try row.integer(17)
        item.until = try row.instantIfPresent(18)
        renewsAt = try row.instantIfPresent(19)
        item.addedAt = try row.instant(20)
        usedAt = try row.instant(21)
        isPlanned = try row.flag(22)
        givesBack = try row.flag(23)
        fingerprint = try row.blobIfPresent(24)
    }
}

extension SavedPieceName {
    /// The columns `stream, number, part`.
    var values: [SQLValue] { [.integer(Int64(stream)), .integer(Int64(number)), .integer(isInitialization ? 1 : 0)] }

    /// Reads the columns `stream, number, part` at the beginning of a row.
    init(_ row: Row) throws {
        self.init(stream: Int(try row.integer(0)), number: Int(try row.integer(1)), isInitialization: try row.flag(2))
    }
}

/// A file that is present in part.
struct PartialPiece: Sendable {
    /// The validator of the version that it is of.
    var validator: String
    /// Bytes that are durable; nil in the process that writes it, which has more.
    var length: Int64?
}

/// The version of a resource of which several files are parts.
struct ResourceVersion: Sendable, Equatable {
    /// Its `ETag`, or `Last-Modified`; nil if the server names no version.
    var validator: String?
    /// Bytes; nil if unknown.
    var length: Int64?

    /// Whether another response can be of the same version.
    func matches(_ other: ResourceVersion) -> Bool {
        (validator ?? other.validator) == (other.validator ?? validator) && (length ?? other.length) == (other.length ?? length)
    }
}
