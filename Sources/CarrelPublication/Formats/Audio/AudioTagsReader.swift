import CarrelAudio
import CarrelBytes
import CarrelMP4
import CarrelThreads

/// What a sound file says about itself.
struct AudioDescription: Sendable {
    var tags = AudioTags()
    /// Seconds; nil where only counting would tell.
    var duration: Double?
}

/// Reads what a sound file says about itself: ID3 tags, and the items and chapters of MP4 files (M4A, M4B).
enum AudioTagsReader {
    /// Bytes of a tag with its cover at most.
    private static let limit = 24 << 20
    /// Bytes at the end of a file that may be a tag of the oldest kind.
    private static let tailLength: Int64 = 128
    private static let threads = BlockingThreads(name: "carrel-tags", count: 2)

    /// - Parameter resource: the file.
    /// - Returns: nothing of what is not understood.
    /// - Throws: what reading throws.
    static func describe(_ resource: any Resource) async throws(ResourceError) -> AudioDescription {
        let head = try await resource.read(0..<12)
        if head.dropFirst(4).starts(with: "ftyp".utf8) { return try await movie(resource) }
        guard let length = ID3.headerLength(head.rawSpan) else {
            let length = try await resource.length()
            let tail = try await resource.read(max(0, length - tailLength)..<length)
            return AudioDescription(tags: (try? ID3.parseV1(tail.rawSpan)) ?? AudioTags())
        }
        guard length <= limit else { return AudioDescription() }
        let bytes = try await resource.read(0..<Int64(length))
        return AudioDescription(tags: (try? ID3.parse(bytes.rawSpan)) ?? AudioTags())
    }

    /// The index of an MP4 file is read in small pieces, here and there, by what waits for each of them.
    private static func movie(_ resource: any Resource) async throws(ResourceError) -> AudioDescription {
        let reader = WaitingReader(BufferingResource(resource, least: 64 << 10), length: try await resource.length())
        do {
            return try await threads.run {
                let file = try MP4File(reader)
                var found = AudioDescription(tags: file.tags)
                if let track = file.mainAudioTrack, track.timescale > 0, track.declaredDuration > 0 {
                    found.duration = Double(track.declaredDuration) / Double(track.timescale)
                }
                return found
            }
        } catch let error as ResourceError {
            throw error
        } catch {
            // a damaged index is no reason not to play the file
            return AudioDescription()
        }
    }
}
