// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelDASH
import CarrelMP4
package import CarrelMediaSource

/// Initialization segments, each loaded once.
package actor InitializationCache {
    private let origin: MediaOrigin
    private var held: [String: [UInt8]] = [:]
    /// From the least recently used to the most.
    private var order: [String] = []

    /// Size limit of a section, and number of cached sections: enough for all tracks of a large presentation.
    private static let limit = 1 << 20
    private static let countLimit = 32

    package init(_ origin: MediaOrigin) {
        self.origin = origin
    }

    /// The initialization segment of a representation.
    ///
    /// - Throws: ``ProxyError``; `proxy.unsupported` if there is none: segments that need none are of another format.
    package func initialization(of stream: MPDStream) async throws -> [UInt8] {
        if let (url, range) = stream.initialization {
            return try await load(url, range.flatMap { range in range.length.map { range.offset..<range.offset + $0 } })
        }
        // a representation in one file begins with it: everything before the index or, without an index, before the media
        guard stream.information?.kind ?? .base == .base else {
            throw ProxyError(.unsupported, "representation '\(stream.id)' has no initialization segment")
        }
        if let range = stream.information?.indexRange { return try await load(stream.baseURL, 0..<range.offset) }
        return try await load(stream.baseURL, nil, upToMovie: true)
    }

    private func load(_ url: String, _ range: Range<Int64>?, upToMovie: Bool = false) async throws -> [UInt8] {
        let key = "\(range?.lowerBound ?? -1)-\(range?.upperBound ?? -1) \(url)"
        if let bytes = held[key] {
            order.removeAll { $0 == key }
            order.append(key)
            return bytes
        }
        let bytes =
            upToMovie
            ? try await MovieHead.load(url, origin, limit: Self.limit)
            : try await origin.load(url, range: range, limit: Self.limit).bytes
        // a damaged one is loaded again
        guard MovieHead.isMovie(bytes) else { return bytes }
        if held[key] == nil { order.append(key) }
        held[key] = bytes
        if order.count > Self.countLimit { held[order.removeFirst()] = nil }
        return bytes
    }
}
