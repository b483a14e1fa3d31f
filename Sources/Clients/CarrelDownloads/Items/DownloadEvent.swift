// SPDX-License-Identifier: Apache-2.0

/// An event of the transfers of this process.
public enum DownloadEvent: Sendable {
    /// A part of an item that is played by itself, such as the pictures or one language of audio.
    public struct Selection: Sendable, Hashable {
        /// The index of the part, from 0.
        public let index: Int
        /// `video`, `audio` or `text`.
        public let kind: String
        /// The language or name of the track; empty if it has none.
        public let label: String

        package init(index: Int, kind: String, label: String) {
            self.index = index
            self.kind = kind
            self.label = label
        }
    }

    /// The folder of an item is known; nothing of its media is in it. Work that needs the media waits for ``finished(_:)``.
    case located(id: String, folder: String)
    /// The item's state or reason changed.
    case changed(DownloadItem)
    /// More media of a selection are on the disk: `loaded` of the `expected` time.
    case progress(DownloadItem, Selection, loaded: Duration, expected: Duration)
    /// All media of a selection are on the disk.
    case selectionFinished(id: String, Selection)
    /// The item is complete: it can be played without a network.
    case finished(DownloadItem)
    /// The item ended with an error.
    case failed(DownloadItem, DownloadError)
}
