// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelHLS
import CarrelMP4
import CarrelMedia
import CarrelMediaSource

/// A segment of an HLS playlist, decrypted by its key line.
struct SegmentDecryption: Sendable {
    var stream: FirstBytes
    var key: EncryptionKey?
    /// The media sequence number that the source has.
    var number: UInt64
    /// The media sequence number here.
    var place: Int64
    /// The initialization section; nil if none is needed.
    var initialization: [UInt8]?
    var keys: any ContentKeySource
    /// The pixels of the largest picture of the rendition; 0 for media without pictures, nil if they are not known.
    var pixels: Int?

    static func decrypter(
        _ key: EncryptionKey?,
        _ number: UInt64,
        _ initialization: [UInt8],
        _ keys: some ContentKeySource,
        _ pixels: Int?
    ) async throws -> MediaSegmentDecrypter {
        // fragments name their keys themselves; a key line gives the address of a key that cannot be found by its id
        if !initialization.isEmpty, key.map({ [.sampleAES, .sampleAESCTR].contains($0.method) }) ?? true {
            do {
                return try await MediaSegmentDecrypter(initialization: initialization, keys: keys, clock: nil)
            } catch let error as MediaError where error.code == .missingKey && key != nil {}
        } else if !initialization.isEmpty, try isEncrypted(initialization) {
            throw MediaError(.unsupported, "encrypted samples inside an encrypted segment are not supported")
        }
        return try await MediaSegmentDecrypter(key, segment: number, initialization: initialization, keys: keys, pixels: pixels)
    }

    /// Whether a track of an initialization section is protected.
    static func isEncrypted(_ initialization: [UInt8]) throws -> Bool {
        try MP4File(BytesReader(initialization)).tracks.contains { $0.entries.contains { $0.protection != nil } }
    }

    /// Whether the cipher is one of whole segments.
    private var isWhole: Bool { key.map { ![.sampleAES, .sampleAESCTR].contains($0.method) } ?? false }

    /// The clear segment in the form that it has.
    func plain(as contentType: String) async throws -> ServedMedia {
        do {
            let decrypter = try await Self.decrypter(key, number, initialization ?? [], keys, pixels)
            // a cipher of whole segments produces bytes under any key, and a server may send a page in place of a clear segment
            let isChecked = isWhole || key == nil && initialization == nil
            return ServedMedia(contentType: contentType, bytes: DecryptedBytes(stream, decrypter, isChecked: isChecked))
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }

    /// Returns subtitles as WebVTT: a file with only its time map changed, or the timed text of fragments.
    ///
    /// - Parameters:
    ///   - limit: maximum size of the segment in bytes.
    ///   - isRemuxed: whether the accompanying media get another clock.
    ///   - threads: the threads that make the text.
    /// - Returns: the text.
    /// - Throws: ``ProxyError``.
    func text(limit: Int, isRemuxed: Bool, _ threads: SessionThreads) async throws -> [UInt8] {
        if let initialization {
            let decrypter: MediaSegmentDecrypter
            do { decrypter = try await Self.decrypter(key, number, initialization, keys, pixels) } catch {
                throw ProxyError(error, in: stream.name)
            }
            let clear = decrypter.clear(initialization)
            let bytes = try await Self.collected(DecryptedBytes(stream, decrypter, isChecked: isWhole), stream.name, limit)
            let origin = isRemuxed ? TransportRemuxer.origin : 0
            do {
                return try await threads.compute { try await TextSegment.make(bytes, clear, origin: origin, keys) }
            } catch {
                throw ProxyError(error, in: stream.name)
            }
        }
        let bytes = try await Self.collected(try await plain(as: "text/vtt").bytes, stream.name, limit)
        return isRemuxed ? try await threads.compute { WebVTTClock.shifted(bytes) } : bytes
    }

    private static func collected(_ media: any SegmentBytes, _ name: String, _ limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await media.next() {
            guard bytes.count + piece.count <= limit else {
                throw ProxyError(.wrongLength, "\(name) has more than \(limit) bytes of subtitles")
            }
            bytes += piece
        }
        return bytes
    }

    /// Clear fragments as a transport stream.
    func transportStream() async throws -> ServedMedia {
        do {
            let initialization = initialization ?? []
            let decrypter = try await Self.decrypter(key, number, initialization, keys, pixels)
            let clear = decrypter.clear(initialization)
            let tracks = try MP4File(BytesReader(clear)).tracks
            return ServedMedia(
                .transportStream,
                RemuxedBytes(
                    [DecryptedBytes(stream, decrypter)],
                    [SegmentRemux.Stream(tracks: tracks)],
                    name: stream.name,
                    number: Int(truncatingIfNeeded: place),
                    keys: keys
                )
            )
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }
}

extension MediaSegmentDecrypter {
    /// The initialization section for the decrypted segment: the clear one, or the source's if its samples are not encrypted.
    borrowing func clear(_ initialization: [UInt8]) -> [UInt8] {
        clearInitialization.isEmpty ? initialization : clearInitialization
    }
}
