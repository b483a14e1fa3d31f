// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelMediaSource
import CarrelThreads

/// A segment on its way: the origin's segments are opened, decrypted and made into one for the player, as its bytes are taken.
struct SegmentRequest: Sendable {
    var sources: [SegmentSource]
    var opening: SegmentOpening
    var settings: SessionSettings
    var keys: any ContentKeySource
    /// The number of the segment.
    var number: Int
    /// Whether other segments of the list have pictures, and this one has none.
    var lacksPictures = false

    /// One transport stream of all sources.
    func transportStream() async throws -> ServedMedia {
        let (streams, described) = try await opened()
        return ServedMedia(
            .transportStream,
            RemuxedBytes(
                streams,
                described,
                name: streams.map(\.name).joined(separator: ", "),
                number: number,
                hasTags: sources.contains(where: \.hasTags),
                reserved: lacksPictures ? 1 : 0,
                keys: keys
            )
        )
    }

    /// Opens all sources side by side.
    private func opened() async throws -> ([FirstBytes], [SegmentRemux.Stream]) {
        var described: [SegmentRemux.Stream] = []
        for source in sources {
            do {
                described.append(
                    try await SegmentRemux.Stream(initialization: source.initialization, shift: source.shift, keys: keys)
                )
            } catch {
                throw ProxyError(error, in: MediaOrigin.shown(source.url))
            }
        }
        let streams = try await withThrowingTaskGroup(of: (Int, FirstBytes).self) { group in
            for (place, source) in sources.enumerated() {
                group.addTask { (place, try await opening.open(source.url, range: source.range)) }
            }
            var opened: [Int: FirstBytes] = [:]
            for try await (place, stream) in group { opened[place] = stream }
            return sources.indices.compactMap { opened[$0] }
        }
        return (streams, described)
    }

    /// Returns the first I-frame of the first source.
    ///
    /// - Parameter duration: how long it is shown.
    /// - Returns: the I-frame as a separate segment.
    /// - Throws: ``ProxyError``: `proxy.missing` if the segment has none.
    func picture(_ duration: Duration) async throws -> ServedMedia {
        guard let source = sources.first else { throw SegmentName.unknown }
        let stream = try await opening.open(source.url, range: source.range)
        do {
            var decrypter = try await MediaSegmentDecrypter(initialization: source.initialization, keys: keys, clock: nil)
            if settings.output == .fragments { decrypter.shift = source.fragmentShift }
            let request = PictureRequest(
                stream: stream,
                form: settings.segmentForm,
                duration: duration,
                shift: source.shift,
                number: number
            )
            return try await request.media(decrypter)
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }

    /// The clear fragments of the first source.
    func fragments() async throws -> ServedMedia {
        guard let source = sources.first else { throw SegmentName.unknown }
        let stream = try await opening.open(source.url, range: source.range)
        do {
            var decrypter = try await MediaSegmentDecrypter(initialization: source.initialization, keys: keys, clock: nil)
            decrypter.shift = source.fragmentShift
            return ServedMedia(.fragment, DecryptedBytes(stream, decrypter))
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }
}
