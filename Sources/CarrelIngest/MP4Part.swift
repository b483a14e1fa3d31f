import CarrelAudio
struct MP4Part {
    init(_ f: SourceFile) throws {}; var format: AudioFormat? { nil }; var channels: Int { 2 }; var tags = AudioTags();
    var delay = 0; var padding = 0
    func read(into stream: ElementaryStream, allowTruncated: Bool, warnings: inout [String], progress: (Int) throws -> Void)
        throws
    {}
}
