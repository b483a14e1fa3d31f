// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelMediaSource

/// The first I-frame of a segment as a separate resource (RFC 8216 §4.3.3.6).
struct PictureRequest: Sendable {
    /// The segment at the origin.
    var stream: FirstBytes
    var form: FileSegments.Form
    /// How long the picture is shown.
    var duration: Duration
    /// The ticks that are added to its time in a transport stream.
    var shift: Int64 = 0
    /// The number of the segment.
    var number: Int

    /// Reads up to the I-frame; the rest of the segment is not loaded.
    ///
    /// - Parameter decrypter: the decrypter of a fragmented segment.
    /// - Returns: the I-frame, with an initialization section if players need one.
    /// - Throws: ``ProxyError``: `proxy.missing` if the segment has no I-frame.
    func media(_ decrypter: consuming sending MediaSegmentDecrypter) async throws -> ServedMedia {
        defer { stream.cancel() }
        do {
            let tracks = try MP4File(BytesReader(decrypter.clearInitialization)).tracks
            var picture = try FirstPicture(of: tracks, as: form, duration: duration, shift: shift, number: number)
            let clear = DecryptedBytes(stream, decrypter)
            while let piece = try await clear.next() {
                picture.append(piece.rawSpan)
                guard let bytes = try picture.next() else { continue }
                return ServedMedia(form, HeldBytes(bytes))
            }
        } catch {
            throw ProxyError(error, in: stream.name)
        }
        throw ProxyError(.missing, "\(stream.name) has no picture that is decoded alone")
    }
}
