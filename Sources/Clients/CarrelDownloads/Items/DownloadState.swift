// SPDX-License-Identifier: Apache-2.0

/// The state of a download. The raw values are stable.
public enum DownloadState: String, Sendable, Hashable, CaseIterable {
    /// It starts when there is room for it.
    case queued
    /// It waits for a requirement, which is the item's reason.
    case waiting
    /// Its source is read and its keys are requested.
    case fetchingKeys = "fetching-keys"
    /// Its media are transferred.
    case downloading
    /// All media are present; their digests are checked.
    case verifying
    /// It can be played without a network.
    case completed
    /// The user paused it.
    case paused
    /// It ended with an error, which is the item's reason.
    case failed
    /// Its files and keys are being removed.
    case removing
    /// Its files are being removed, and it starts again.
    case restarting
    /// It is complete, but its license has ended; renewing makes it playable again.
    case expired

    /// Whether a process works on an item in this state.
    package var isRunning: Bool { [.fetchingKeys, .downloading, .verifying].contains(self) }

    /// Whether all media of an item in this state are here.
    var isComplete: Bool { self == .completed || self == .expired }

    /// Whether nothing happens to an item in this state until a user acts.
    public var isFinal: Bool { [.completed, .paused, .failed, .expired].contains(self) }

    /// Whether an item in this state can change to another one.
    package func canBecome(_ next: DownloadState) -> Bool {
        switch (self, next) {
        case (.removing, _): false
        case (_, .removing): true
        case (_, .restarting): self != .restarting
        case (.restarting, _): next == .queued
        case (.queued, .waiting), (.queued, .fetchingKeys), (.queued, .paused), (.queued, .failed): true
        case (.waiting, .queued), (.waiting, .paused), (.waiting, .failed): true
        case (.fetchingKeys, .downloading), (.fetchingKeys, .queued), (.fetchingKeys, .waiting), (.fetchingKeys, .paused),
            (.fetchingKeys, .failed):
            true
        case (.downloading, .verifying), (.downloading, .queued), (.downloading, .waiting), (.downloading, .paused),
            (.downloading, .failed):
            true
        case (.verifying, .completed), (.verifying, .queued), (.verifying, .waiting), (.verifying, .paused),
            (.verifying, .failed):
            true
        case (.paused, .queued), (.failed, .queued): true
        default: false
        }
    }
}
