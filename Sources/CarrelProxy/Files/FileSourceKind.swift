import CarrelBytes
import CarrelMedia

/// The form in which a single file is served, found in its bytes.
enum FileSourceKind: Sendable {
    /// A stream of bytes.
    case container(ByteContent)
    /// HLS.
    case presentation(any Presentation)

    init(_ origin: MediaOrigin, _ settings: SessionSettings) async throws {
        let stream = try await FirstBytes(try await origin.open(origin.source))
        let head = stream.head
        guard head.count >= 12, head.rawSpan.matches("ftypodcf", at: 4) else {
            throw ProxyError(.unsupported, "\(MediaOrigin.shown(origin.source)) is of no kind that the proxy serves")
        }
        self = .container(try await ByteContent(origin, settings))
    }
}
