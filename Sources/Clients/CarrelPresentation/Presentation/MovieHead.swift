// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMediaSource

/// The beginning of a file up to the end of its movie box.
enum MovieHead {
    /// Whether bytes are an initialization segment that can be read.
    static func isMovie(_ bytes: [UInt8]) -> Bool {
        guard let file = try? MP4File(BytesReader(bytes)) else { return false }
        return !file.tracks.isEmpty
    }

    static func load(_ url: String, _ origin: MediaOrigin, limit: Int) async throws -> [UInt8] {
        let stream = try await origin.open(url, isWhole: true)
        defer { stream.cancel() }
        var bytes: [UInt8] = []
        var at = 0
        while true {
            while at + 8 <= bytes.count {
                let size = Int(bytes.rawSpan.u32(at: at))
                guard size >= 8, size <= limit else {
                    throw ProxyError(.damaged, "\(MediaOrigin.shown(url)): box at \(at) is not part of a movie")
                }
                let isMovie = bytes.rawSpan.matches("moov", at: at + 4)
                guard at + size <= bytes.count else { break }
                at += size
                if isMovie { return Array(bytes[..<at]) }
            }
            guard bytes.count < limit, let piece = try await stream.next() else {
                throw ProxyError(.damaged, "\(MediaOrigin.shown(url)): there is no movie within \(limit) bytes")
            }
            bytes += piece
        }
    }
}
