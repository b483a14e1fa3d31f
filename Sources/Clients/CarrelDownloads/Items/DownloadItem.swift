// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import CarrelJSON

/// A saved stream, or one that is being saved.
public struct DownloadItem: Sendable, Hashable {
    /// 26 characters, which name the item's folder.
    public let id: String
    /// The title that the user or the stream list gave.
    public var title: String
    /// The state.
    public var state: DownloadState
    /// The requirement that a waiting item waits for (``DownloadRequirements/Reason``), or the code of a failed item's error; nil otherwise.
    public var reason: String?
    /// The error of a failed item in words, a lower-case sentence without a period; nil otherwise.
    public var message: String?
    /// Whether resuming a failed item can succeed.
    public var isRetryable = false
    /// Bytes of media on the disk.
    public var done: Int64 = 0
    /// Bytes of all media: an estimate until the item is complete; 0 if unknown.
    public var total: Int64 = 0
    /// When the first of the keys ends; nil if none does, or if there are none yet.
    public var until: Instant?
    /// Higher starts first.
    public var priority = 0
    /// Whether it is never evicted.
    public var isPinned = false
    /// When it was added.
    public var addedAt = Instant(milliseconds: 0)

    package init(id: String, title: String, state: DownloadState) {
        self.id = id
        self.title = title
        self.state = state
    }

    /// The object that scripts read: `id`, `title`, `state`, `reason`, `done`, `total` in bytes, and `until` (RFC 3339).
    public var json: JSON {
        [
            "id": .string(id), "title": .string(title), "state": .string(state.rawValue),
            "reason": reason.map { .string($0) } ?? .null,
            "done": .integer(done), "total": .integer(total), "until": until.map { .string($0.description) } ?? .null,
        ]
    }
}
