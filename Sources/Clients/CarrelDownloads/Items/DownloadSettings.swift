// SPDX-License-Identifier: Apache-2.0

/// How a stream is saved.
public struct DownloadSettings: Sendable, Hashable {
    /// The files that are sealed on the disk.
    public enum Seal: String, Sendable, Hashable, CaseIterable {
        /// Playlists, and clear media of a protected source; other media stay as delivered.
        case keys
        /// Everything.
        case all
    }

    /// The tracks to save.
    public var selection = DownloadSelection()
    /// The conditions for its transfers.
    public var requirements = DownloadRequirements()
    /// The files that are sealed on the disk.
    public var seal = Seal.keys
    /// Higher starts first.
    public var priority = 0
    /// Whether it is never evicted.
    public var isPinned = false
    /// The limits of its transfers.
    public var limits = DownloadLimits()

    /// Creates the defaults.
    public init() {}
}

/// The tracks that are saved.
public struct DownloadSelection: Sendable, Hashable {
    /// Bits per second that pictures and sound must have at least, if the source has such a variant.
    public static let defaultMinimumBitrate = 265_000

    /// The languages of a kind of renditions.
    public enum Languages: Sendable, Hashable {
        /// The default rendition of each group: `DEFAULT=YES` in HLS (RFC 8216 §4.3.4.1), the role `main` in DASH.
        case defaults
        /// No rendition.
        case none
        /// Every rendition.
        case all
        /// Renditions of these languages (BCP 47).
        case chosen([String])
    }

    /// The languages of audio.
    public var audio = Languages.defaults
    /// The languages of subtitles.
    public var subtitles = Languages.defaults
    /// The lowest variant of at least this many bits per second is saved; the highest if none has as many.
    public var minimumBitrate = Self.defaultMinimumBitrate

    /// Creates the defaults.
    public init() {}
}

/// Limits of transfers.
public struct DownloadLimits: Sendable, Hashable {
    /// Bytes per second; nil for no limit.
    public var bytesPerSecond: Int?
    /// Connections at a time; nil for the default.
    public var connections: Int?

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: bytes per second; nil for no limit.
    ///   - connections: connections at a time; nil for the default.
    public init(bytesPerSecond: Int? = nil, connections: Int? = nil) {
        self.bytesPerSecond = bytesPerSecond
        self.connections = connections
    }
}

/// Limits of all downloads of a folder.
public struct DownloadQueueLimits: Sendable, Hashable {
    /// The rate and the connections of all transfers together.
    public var transfers = DownloadLimits(connections: 16)
    /// Items that are transferred at a time.
    public var items = 3
    /// Connections to one host at a time.
    public var connectionsPerHost = 8
    /// Bytes of all items; nil for no limit but the disk.
    public var quota: Int64?
    /// Bytes of one item; nil for no limit but the disk.
    public var itemQuota: Int64?
    /// Whether items that are complete and not pinned are removed, the least recently used first, when a new one has no room.
    public var evicts = false

    /// Creates the defaults.
    public init() {}
}
