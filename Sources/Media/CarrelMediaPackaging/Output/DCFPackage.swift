// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelBytes
import CarrelCrypto
import CarrelDCF
package import CarrelMP4

/// Packages any file as an OMA DCF with one object, whose tags protect it from change.
package enum DCFPackage {
    /// Bytes that are read together.
    private static let pieceLength: Int64 = 1 << 18

    /// Writes a file's DCF.
    ///
    /// - Parameters:
    ///   - reader: the file.
    ///   - contentType: its media type.
    ///   - contentID: names the content to license servers.
    ///   - key: the content key, 16 bytes.
    ///   - isCounter: whether AES-CTR takes the place of AES-CBC.
    ///   - file: gets the DCF.
    ///   - progress: gets the bytes read so far; it may throw to end the work.
    /// - Throws: `unwritable`; the errors of the reader and `progress`.
    package static func write(
        _ reader: any ByteReader,
        contentType: String,
        contentID: String,
        key: PackagingKey,
        isCounter: Bool,
        to file: PackageFile,
        progress: (Int64) throws -> Void
    ) throws {
        // in counter mode, vectors of one key must be further apart than files have blocks: the low half counts, the high one is
        // random
        var writer = try DCFWriter(FileSink(file: file)) {
            let random = Random.bytes(16)
            return AESBlock(high: random.rawSpan.u64(at: 0), low: isCounter ? 0 : random.rawSpan.u64(at: 8))
        }
        let headers = DCFHeaders(cipher: isCounter ? .counter : .cbc, contentID: contentID)
        try writer.begin(contentType: contentType, headers, length: reader.length, key: key.key, isTagged: true)
        var at: Int64 = 0
        while at < reader.length {
            let end = min(reader.length, at + pieceLength)
            let piece = try reader.readAll(at..<end)
            try writer.append(piece.rawSpan)
            at = end
            try progress(at)
        }
        try writer.end()
        try writer.finish().file.close()
    }

    private struct FileSink: DCFSink {
        let file: PackageFile

        mutating func write(_ bytes: RawSpan) throws { try file.write(bytes) }

        mutating func overwrite(_ bytes: RawSpan, at offset: Int64) throws { try file.overwrite(bytes, at: offset) }
    }

    /// The media type for a file extension.
    package static func contentType(ofFile path: String) -> String {
        let types = [
            "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "mkv": "video/x-matroska", "webm": "video/webm",
            "mp3": "audio/mpeg", "m4a": "audio/mp4", "m4b": "audio/mp4", "aac": "audio/aac", "ogg": "audio/ogg",
            "flac": "audio/flac",
            "wav": "audio/wav", "epub": "application/epub+zip", "pdf": "application/pdf", "txt": "text/plain",
            "html": "text/html",
            "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
            "zip": "application/zip", "ts": "video/mp2t",
        ]
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return "application/octet-stream" }
        return types[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }
}
