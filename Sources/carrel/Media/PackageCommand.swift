import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import CarrelMedia
import CarrelThreads

/// The protection that `carrel package` gives.
enum PackageProtection: String, CaseIterable, Sendable, TextValue {
    case cenc, cbcs, cens, cbc1
    case aes128 = "aes-128"
    case sampleAES = "sample-aes"
    case cissa
    case none

    /// The scheme of fragments.
    var common: CommonEncryptionScheme? { CommonEncryptionScheme(rawValue: rawValue) }
    /// The scheme of transport streams.
    var transport: TransportScheme? { TransportScheme(rawValue: rawValue) }
}

struct PackageCommand: Command {
    var inputs: [String] = []
    var outputPath = ""
    var scheme = PackageProtection.none
    var keys = PackagingKeyOptions()
    var segmentDuration = Duration.seconds(4)
    var isSingleFile = false
    var isTransport = false
    var clearLead = Duration.zero
    var rotation = 0
    var keyURI: String?
    var licenseURI: String?
    var contentID: String?
    var output = OutputOptions()

    static let name = "package"
    static let abstract = "Package media for HTTP streaming, encrypted with keys of yours."
    static let discussion = """
        Reads MP4 and MOV files, one for each bit rate or language, and WebVTT subtitles. Writes one set of CMAF segments with HLS \
        playlists (master.m3u8) and a DASH manifest (manifest.mpd), or MPEG-2 transport streams with HLS playlists. All renditions \
        are cut at the same sync samples; files that cannot be are refused with the time of the difference. The folder appears \
        whole or not at all. The language of subtitles is in their name: film.de.vtt.
        """
    static let examples = [
        Example(
            "carrel package 1080p.mp4 720p.mp4 film.de.vtt -o film --scheme cbcs "
                + "--key 0123456789abcdef0123456789abcdef:00112233445566778899aabbccddeeff",
            "Packages two bit rates and subtitles under one key."
        ),
        Example(
            "carrel package film.mp4 -o film --scheme cenc --keys keys.txt --clear-lead 10s",
            "Takes the keys from a file; the first ten seconds stay clear."
        ),
        Example(
            "carrel package film.mp4 -o film --scheme aes-128 --keys keys.txt --key-uri https://example.com/keys/{kid}",
            "Writes transport streams with AES-128 for HLS."
        ),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.inputs, "input", help: "MP4, MOV and WebVTT files.", required: true),
            .option(
                \.outputPath,
                "-o",
                "--output",
                value: "folder",
                help: "The folder to write; it must not exist, or be empty.",
                required: true
            ),
            .option(
                \.scheme,
                "--scheme",
                value: "scheme",
                help:
                    "How media are encrypted: cenc, cbcs, cens or cbc1 (Common Encryption); aes-128, sample-aes or cissa "
                    + "(transport streams); none."
            ),
            .option(\.segmentDuration, "--segment", value: "duration", help: "Target duration of a segment."),
            .flag(\.isSingleFile, "--single-file", help: "Write one file for each track; segments are byte ranges of it."),
            .flag(\.isTransport, "--ts", help: "Write clear transport streams instead of CMAF; implied by their schemes."),
            .option(\.clearLead, "--clear-lead", value: "duration", help: "Leave segments clear that begin before this time."),
            .option(
                \.rotation,
                "--rotate",
                value: "segments",
                help: "Change to the next key after this many segments; 0 = never.",
                allowed: .atLeast(0)
            ),
            .option(
                \.keyURI,
                "--key-uri",
                value: "uri",
                help: "The address of a key in playlists; {kid} stands for its id. Required for aes-128 and sample-aes."
            ),
            .option(
                \.licenseURI,
                "--license-uri",
                value: "uri",
                help: "The address of a ClearKey license server in the manifest."
            ),
            .option(
                \.contentID,
                "--content-id",
                value: "id",
                help: "The content id in the key messages of cissa; default: the key's id."
            ),
        ] + Parameter.group(\.keys) + Parameter.group(\.output)

    func validate() throws(UsageError) {
        guard (.milliseconds(500)...(.seconds(60))).contains(segmentDuration) else {
            throw UsageError(.badValue, "--segment must be from 500ms to 60s")
        }
        if let contentID, contentID.utf8.count > 255 { throw UsageError(.badValue, "--content-id is longer than 255 bytes") }
        if isTransport, scheme.common != nil {
            throw UsageError(.contradiction, "--ts and --scheme \(scheme.rawValue) exclude each other")
        }
        if isSingleFile, isTransport || scheme.transport != nil {
            throw UsageError(.contradiction, "--single-file needs CMAF: transport streams have a file for each segment")
        }
        if keyURI == nil, scheme == .aes128 || scheme == .sampleAES {
            throw UsageError(.missingValue, "--scheme \(scheme.rawValue) needs --key-uri: the address where players get the key")
        }
    }

    private func options(_ keys: PackagingKeys) -> PackagingOptions {
        var options = PackagingOptions()
        options.scheme = scheme.common
        options.transport = scheme.transport
        options.isTransport = isTransport || scheme.transport != nil
        options.videoKeys = keys.video
        options.audioKeys = keys.audio
        options.segmentDuration = segmentDuration.wholeMilliseconds
        options.layout = isSingleFile ? .ranges : .segments
        options.clearLead = clearLead.wholeMilliseconds
        options.rotation = rotation
        options.keyURI = keyURI
        options.licenseURI = licenseURI
        options.contentID = contentID
        return options
    }

    func run(_ console: Console) async throws {
        let keys = try keys.keys()
        if scheme == .none, !keys.isEmpty { throw UsageError(.contradiction, "--key needs --scheme") }
        if scheme != .none, keys.isEmpty {
            throw MediaError(.missingKey, "--scheme \(scheme.rawValue) encrypts, and no key is given")
        }
        var sources: [PackagingSource] = []
        var texts: [PackagingText] = []
        for input in inputs {
            let reader = try LocalFile(input)
            if PackagingText.isText(try reader.read(0..<min(reader.length, 16))) {
                guard reader.length <= WebVTTFile.limit else {
                    throw MediaError(.malformed, "\(input): subtitles have more than 16 MiB")
                }
                let language = PackagingText.language(ofFile: input)
                texts.append(try PackagingText(name: input, reader.read(0..<reader.length), language: language))
            } else {
                sources.append(try await PackagingSource(name: input, reader))
            }
        }
        let (path, options) = (outputPath, options(keys))
        let packager = try Packager(sources, texts: texts, options)
        let bar = console.progress("packaging \(path)", totalBytes: packager.byteCount)
        defer { bar.finish() }
        let folder = try PackageFolder(path)
        let summary = try packager.write(to: folder) { done, _ in bar.advance(to: done) }
        try folder.commit()
        bar.finish()
        report(summary, options, console)
    }

    private func report(_ summary: PackageSummary, _ options: PackagingOptions, _ console: Console) {
        let playlist = summary.hasPlaylists ? "\(outputPath)/\(PackageSummary.playlistName)" : nil
        let manifest = options.isTransport ? nil : "\(outputPath)/\(PackageSummary.manifestName)"
        if output.json {
            console.print([
                "output": .string(outputPath), "scheme": .string(scheme.rawValue), "duration": .real(summary.seconds),
                "playlist": playlist.map { .string($0) } ?? .null, "manifest": manifest.map { .string($0) } ?? .null,
                "tracks": .array(summary.tracks.map(Self.json)),
            ])
            return
        }
        for track in summary.tracks {
            var words = [track.name, track.codecs]
            if track.width > 0 { words.append("\(track.width)x\(track.height)") }
            if let language = track.language { words.append(language) }
            words.append("\(track.segmentCount) segments")
            console.print(words.joined(separator: "  "))
        }
        for path in [playlist, manifest].compactMap(\.self) { console.print(path) }
    }

    private static func json(_ track: PackageSummary.Track) -> JSON {
        [
            "kind": .string(track.kind), "name": .string(track.name), "codecs": .string(track.codecs),
            "language": track.language.map { .string($0) } ?? .null, "width": .integer(Int64(track.width)),
            "height": .integer(Int64(track.height)), "segments": .integer(Int64(track.segmentCount)),
            "bandwidth": .integer(Int64(track.bandwidth)), "keyIds": .array(track.keyIDs.map { .string($0) }),
        ]
    }
}

extension Duration {
    /// Whole milliseconds.
    fileprivate var wholeMilliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
