// SPDX-License-Identifier: Apache-2.0

import CarrelMP4
import CarrelBytes
import CarrelThreads

extension MediaFile {
    private static let threads = BlockingThreadPool(name: "carrel-detect", count: 2)

    /// Key IDs without duplicates, 16 bytes each: of tracks, of fragments, and of protection system boxes.
    public var keyIDs: [[UInt8]] { keys.map(\.bytes) }

    /// Inspects a file of this machine.
    ///
    /// - Parameter path: a regular file.
    /// - Throws: `media.unavailable` if it cannot be read; `Malformed` if it is of one of these kinds, and damaged.
    public init(path: String) async throws {
        self = try await Self.threads.run { try MediaFile(try LocalFile(path)) }
    }

    /// Inspects a file of an HTTP server, by byte ranges.
    ///
    /// - Parameters:
    ///   - url: absolute.
    ///   - client: sends the requests.
    /// - Throws: `media.unavailable`, or the errors of the client; `Malformed` if the file is of one of these kinds but damaged.
    public init(url: String, client: some MediaHTTPClient) async throws {
        let file = try await RemoteFile(url, client: client)
        self = try await Self.threads.run { try MediaFile(file) }
    }

    /// Replaces the licenses embedded in a DCF or PDCF. A temporary copy is written and synced, then renamed over the file, so
    /// that the file is complete at any time.
    ///
    /// - Parameters:
    ///   - licenses: the new licenses; an empty list removes the existing ones.
    ///   - path: a DCF, or an MP4 file with PDCF tracks.
    /// - Throws: `media.unsupported` if the file is neither, or the licenses are longer than 1 MiB; `media.unavailable`,
    ///   `media.unwritable`; `Malformed` if the file is damaged.
    public static func embed(licenses: [[UInt8]], in path: String) async throws {
        try await threads.run { try EmbeddedLicense.replace(licenses, in: path) }
    }
}
