import CarrelBytes
import CarrelMP4
import CarrelMedia

/// The form in which a single file is served, found in its bytes.
enum FileSourceKind: Sendable {
    /// A stream of bytes.
    case container(ByteContent)
    /// HLS.
    case presentation(any Presentation)

    /// Looks into a file.
    ///
    /// - Throws: ``ProxyError``.
    init(_ origin: MediaOrigin, _ settings: SessionSettings) async throws {
        let name = MediaOrigin.shown(origin.source)
        let head = try await FirstBytes(try await origin.open(origin.source)).head
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
            self = .presentation(try await StreamPresentation(reader, name: name, head: head, origin, settings))
        } else if head.count >= 8, Self.boxes.contains(where: { head.rawSpan.matches($0, at: 4) }) {
            self = .presentation(try await FilePresentation(reader, name: name, settings))
        } else {
            throw ProxyError(.unsupported, "\(name) is of no kind that the proxy serves")
        }
    }

    private static let boxes: [StaticString] = ["ftyp", "moov", "mdat", "free", "skip", "wide", "styp", "sidx"]
}
