// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelHLS
package import CarrelMediaSource

/// Loads playlists of a source. Concurrent calls for one share a request.
package actor PlaylistLoader {
    private let origin: MediaOrigin
    private let threads: SessionThreads
    private var running: [String: Task<(playlist: Playlist, url: String), any Error>] = [:]

    /// Bytes of a playlist, at most.
    private static let limit = 16 << 20

    /// - Parameters:
    ///   - origin: the origin of the playlists.
    ///   - threads: read them.
    package init(_ origin: MediaOrigin, _ threads: SessionThreads) {
        self.origin = origin
        self.threads = threads
    }

    /// Loads the playlist at an address; retries while the origin fails.
    ///
    /// - Parameters:
    ///   - url: the resolved address.
    ///   - patience: how long it retries.
    /// - Returns: the playlist, and its address after redirects.
    /// - Throws: ``ProxyError``.
    package func playlist(at url: String, patience: Duration = .seconds(6)) async throws -> (playlist: Playlist, url: String) {
        if let task = running[url] { return try await task.value }
        var opening = SegmentOpening(origin: origin)
        opening.patience = patience
        let task = Task { [opening, threads] () async throws -> (playlist: Playlist, url: String) in
            let (bytes, address) = try await opening.resource(url, limit: Self.limit)
            return try await threads.compute {
                do throws(Malformed) {
                    return (try Playlist.read(bytes, strictness: .lenient, url: address).playlist, address)
                } catch {
                    throw ProxyError(.manifest, "\(MediaOrigin.shown(url)): \(error.description)")
                }
            }
        }
        running[url] = task
        defer { running[url] = nil }
        return try await task.value
    }

    /// Cancels the requests that are under way: their session has ended.
    func end() {
        for task in running.values { task.cancel() }
    }
}
