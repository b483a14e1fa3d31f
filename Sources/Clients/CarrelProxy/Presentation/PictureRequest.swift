// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia

/// The first sync picture of a segment as a resource of its own (RFC 8216 §4.3.3.6).
struct PictureRequest: Sendable {
    /// The segment at the origin.
    var stream: FirstBytes
    var form: FileSegments.Form
    /// How long the picture is shown.
    var duration: Duration
    /// The ticks that are added to its time in a transport stream.
    var shift: Int64 = 0
    /// Of the segment.
    var number: Int

    /// Reads up to the picture. What the origin has behind it is not taken.
    ///
    /// - Parameter decrypter: of the segment, which is one of fragments.
    /// - Returns: the picture, with a description where players need one.
    /// - Throws: ``ProxyError``: `proxy.missing` when the segment has no such picture.
    func media(_ decrypter: consuming sending MediaSegmentDecrypter) async throws -> ServedMedia {
        defer { stream.cancel() }
        do {
            let tracks = try MP4File(BytesReader(decrypter.clearInitialization)).tracks
            var picture = try FirstPicture(of: tracks, as: form, duration: duration, shift: shift, number: number)
            let clear = DecryptedBytes(stream, decrypter)
            while let piece = try await clear.next() {
                picture.append(piece.rawSpan)
                guard let bytes = try picture.next() else { continue }
                return ServedMedia(contentType: form == .fragment ? "video/mp4" : "video/mp2t", bytes: HeldBytes(bytes))
            }
        } catch {
            throw ProxyError(error, in: stream.name)
        }
        throw ProxyError(.missing, "\(stream.name) has no picture that is decoded alone")
    }
}
