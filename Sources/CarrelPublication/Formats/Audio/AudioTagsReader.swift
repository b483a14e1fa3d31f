import CarrelAudio
import CarrelBytes

/// Reads what a sound file says about itself.
enum AudioTagsReader {
    /// Bytes of a tag with its cover at most.
    private static let limit = 24 << 20

    /// The tag at the beginning of a file; nothing where there is none that is understood.
    static func tags(of resource: any Resource) async throws(ResourceError) -> AudioTags {
        let head = try await resource.read(0..<10)
        guard let length = ID3.headerLength(head.rawSpan), length <= limit else { return AudioTags() }
        let bytes = try await resource.read(0..<Int64(length))
        return (try? ID3.parse(bytes.rawSpan)) ?? AudioTags()
    }
}
