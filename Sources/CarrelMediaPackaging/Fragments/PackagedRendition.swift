import CarrelMedia
import CarrelCrypto
import CarrelMP4

/// One segment of a track, as it was written.
struct PackagedSegment {
    /// When its presentation begins, in units of the track.
    var start: Int64
    var duration: Int64 = 0
    /// Its place in the file of the track; 0 where it has a file by itself.
    var offset: Int64
    var length: Int64 = 0
    /// The key of its samples; nil of a clear one.
    var key: PackagingKey?
    var encryption: TrackEncryption?
    /// The vector of the segment, where its scheme has one for all of it.
    var iv: AESBlock?
    /// Its sync samples of pictures: what to read to decode each, from the start of the segment.
    var pictures: [Picture] = []

    struct Picture {
        var time: Int64
        var offset: Int64
        var length: Int64
    }
}

/// One track of a package, as it was written.
struct PackagedRendition {
    let track: PackagedTrack
    /// The name of its folder, or of its file without the extension.
    let name: String
    let layout: PackagingOptions.Layout
    let scheme: CommonEncryptionScheme?
    /// How its transport stream is protected.
    var transport: TransportScheme?
    /// Whether its segments are transport streams.
    var isTransport = false
    var segments: [PackagedSegment] = []
    /// Bytes of the initialization segment.
    var initializationLength: Int64 = 0
    /// The place of the index in the file of the track.
    var index: Range<Int64> = 0..<0
    /// The key that the initialization segment names.
    var defaultKey: PackagingKey?
    /// All keys of its segments, in the order of their use.
    var keys: [PackagingKey] = []

    /// The path of the initialization segment within the package.
    var initializationPath: String { layout == .ranges ? "\(name).mp4" : "\(name)/init.mp4" }
    /// The path of a segment within the package.
    func path(ofSegment i: Int) -> String {
        if isTransport { return "\(name)/\(i + 1).ts" }
        return layout == .ranges ? "\(name).mp4" : "\(name)/\(i + 1).m4s"
    }

    /// Bits a second of the segment that has the most.
    var peakBandwidth: Int {
        segments.map { bits($0.length, $0.duration) }.max() ?? 0
    }

    /// Bits a second of all segments.
    var averageBandwidth: Int { bits(segments.reduce(0) { $0 + $1.length }, segments.reduce(0) { $0 + $1.duration }) }

    private func bits(_ length: Int64, _ duration: Int64) -> Int {
        guard duration > 0 else { return 0 }
        return Int((Double(length) * 8 * Double(track.timescale) / Double(duration)).rounded(.up))
    }
}
