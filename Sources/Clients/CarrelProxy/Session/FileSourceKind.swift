// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia

/// The form in which a single file is served, found in its bytes.
enum FileSourceKind: Sendable {
    /// A stream of bytes.
    case container(ByteContent)
    /// HLS.
    case presentation(any Presentation)

    /// Inspects a file.
    ///
    /// - Throws: ``ProxyError``.
    init(_ origin: MediaOrigin, _ settings: SessionSettings) async throws {
        let name = MediaOrigin.shown(origin.address)
        var head = try await Self.head(of: origin, length: 64 << 10)
        if head.count >= 12, head.rawSpan.matches("ftypodcf", at: 4) {
            self = .container(try await ByteContent(origin, settings))
            return
        }
        if head.starts(with: Array("#EXTM3U".utf8)) || head.starts(with: [0xef, 0xbb, 0xbf] + Array("#EXTM3U".utf8)) {
            self = .presentation(HLSPresentation(origin, settings))
            return
        }
        if String(decoding: head.prefix(4096), as: UTF8.self).contains("<MPD") {
            self = .presentation(DASHPresentation(origin, settings))
            return
        }
        let reader = try await origin.reader()
        if head.first == 0x47, head.count > 188, head[188] == 0x47 {
            // the first pictures of a stream may be in the clear
            if !ScrambledSegment.isScrambled(head) { head = try await Self.head(of: origin, length: 1 << 20) }
            self = .presentation(try await StreamPresentation(reader, name: name, head: head, origin, settings))
        } else if head.count >= 8, Self.boxes.contains(where: { head.rawSpan.matches($0, at: 4) }) {
            self = .presentation(try await FilePresentation(reader, name: name, isRemote: origin.isRemote, settings))
        } else {
            throw ProxyError(
                .unsupported,
                "\(name) is of no kind that the proxy serves",
                recommendation: "Name a playlist, a manifest, an MP4 file, a transport stream or a DCF."
            )
        }
    }

    /// The first bytes of the source, however they arrive.
    private static func head(of origin: MediaOrigin, length: Int) async throws(ProxyError) -> [UInt8] {
        let stream = try await origin.open(origin.address, isWhole: true)
        defer { stream.cancel() }
        var bytes: [UInt8] = []
        while bytes.count < length, let piece = try await stream.next() { bytes += piece }
        return bytes
    }

    private static let boxes: [StaticString] = [
        "ftyp", "styp", "moov", "moof", "mdat", "sidx", "ssix", "emsg", "prft", "pdin", "uuid", "free", "skip", "wide",
    ]
}
