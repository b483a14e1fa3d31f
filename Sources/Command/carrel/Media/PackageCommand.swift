// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import CarrelMedia
import CarrelMediaPackaging
import CarrelThreads

/// The protection applied by `carrel package`.
enum PackageProtection: String, CaseIterable, Sendable, TextValue {
    case cenc, cbcs, cens, cbc1
    case aes128 = "aes-128"
    case sampleAES = "sample-aes"
    case cissa, dcf, none

    /// The scheme of fragments.
    var common: CommonEncryptionScheme? { CommonEncryptionScheme(rawValue: rawValue) }
    /// The scheme of transport streams.
    var transport: TransportScheme? { TransportScheme(rawValue: rawValue) }
}

struct PackageCommand: Command {
    var inputs: [String] = []
    var outputPath = ""
    var scheme = PackageProtection.none
    var keys = KeyOptions<PackagingKeys>()
    var segmentDuration = Duration.seconds(4)
    var isSingleFile = false
    var isTransport = false
    var clearLead = Duration.zero
    var rotation = 0
    var keyURI: String?
    var licenseURI: String?
    var contentID: String?
    var isAligned = false
    var thumbnails = Duration.zero
    var isForced = false
    var servers = StreamOptions()
    var output = OutputOptions()

    static let name = "package"
    static let abstract = "Package media for HTTP streaming, encrypted with keys of yours."
    static let discussion = """
        Reads MP4 and MOV files, one for each bit rate or language, and WebVTT subtitles; other formats are copied by ffmpeg. Of a clear \
        playlist, DASH manifest or address the variant of the highest bit rate is read. Writes one set of CMAF segments with HLS \
        playlists (master.m3u8) and a DASH manifest (manifest.mpd), or MPEG-2 transport streams with HLS playlists. All renditions \
        are cut at the same sync samples; files that cannot be are refused with the time of the difference. All audio and subtitle \
        tracks of the files are packaged; a warning names each that is not. Of several bit rates with the same audio, one audio track \
        is packaged for each language and coding. The folder appears whole or not at all. The language of subtitles is in their name: \
        film.de.vtt.
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
            .positional(
                \.inputs,
                "input",
                help: "MP4, MOV and WebVTT files, others that ffmpeg reads, and clear HLS and DASH; with dcf any file.",
                required: true
            ),
            .option(
                \.outputPath,
                "-o",
                "--output",
                value: "folder",
                help: "The folder to write; it must not exist, or be empty, unless --force is given.",
                required: true
            ),
            .flag(\.isForced, "--force", help: "Replace a package in that folder; a folder with anything else is kept."),
            .option(
                \.scheme,
                "--scheme",
                value: "scheme",
                help:
                    "How media are encrypted: cenc, cbcs, cens or cbc1 (Common Encryption); aes-128, sample-aes or cissa "
                    + "(transport streams); dcf (each file as an OMA DCF); none."
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
                help: "The content id in the key messages of cissa and in a DCF; default: the key's id."
            ),
            .flag(\.isAligned, "--align", help: "Encode pictures again with ffmpeg, so that all files are cut alike."),
            .option(\.thumbnails, "--thumbnails", value: "interval", help: "Draw a thumbnail at every interval; 0 = none."),
        ] + Parameter.group(\.servers) + Parameter.group(\.keys) + Parameter.group(\.output)

    func validate() throws(UsageError) {
        guard (.milliseconds(500)...(.seconds(60))).contains(segmentDuration) else {
            throw UsageError(.badValue, "--segment must be from 500ms to 60s")
        }
        if let contentID, contentID.utf8.count > 255 { throw UsageError(.badValue, "--content-id is longer than 255 bytes") }
        guard thumbnails == .zero || (.milliseconds(500)...(.seconds(600))).contains(thumbnails) else {
            throw UsageError(.badValue, "--thumbnails must be 0, or from 500ms to 10m")
        }
        if isTransport, scheme.common != nil {
            throw UsageError(.contradiction, "--ts and --scheme \(scheme.rawValue) exclude each other")
        }
        if isSingleFile, isTransport || scheme.transport != nil {
            throw UsageError(.contradiction, "--single-file needs CMAF: transport streams have a file for each segment")
        }
        for (option, address) in [("--key-uri", keyURI), ("--license-uri", licenseURI)] {
            guard let address, !Self.isAddress(address) else { continue }
            throw UsageError(
                .badValue,
                "\(option) is empty, or has spaces, quotation marks or control characters: write them as %20"
            )
        }
        if keyURI == nil, scheme == .aes128 || scheme == .sampleAES {
            throw UsageError(.missingValue, "--scheme \(scheme.rawValue) needs --key-uri: the address where players get the key")
        }
    }

    /// Whether a text can be an address in a playlist and a manifest (RFC 3986 §2).
    static func isAddress(_ text: String) -> Bool {
        !text.isEmpty
            && !text.unicodeScalars.contains {
                $0.properties.isWhitespace || $0.properties.generalCategory == .control || "\"<>".unicodeScalars.contains($0)
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
        if rotation == 0, max(keys.video.count, keys.audio.count) > 1 {
            throw UsageError(.contradiction, "several keys of a type take turns: --rotate tells after how many segments")
        }
        if scheme != .none, keys.isEmpty {
            throw MediaError(.missingKey, "--scheme \(scheme.rawValue) encrypts, and no key is given")
        }
        // all of it blocks: reading, encrypting, ffmpeg
        let unfinished = UnfinishedOutput()
        do {
            try await BlockingExecutor(name: "package", count: 1).run {
                if scheme == .dcf { return try packageDCF(keys, unfinished, console) }
                try await package(keys, unfinished, console)
            }
        } catch {
            await unfinished.finish()
            throw error
        }
        await unfinished.finish()
    }

    private func package(_ keys: PackagingKeys, _ unfinished: UnfinishedOutput, _ console: Console) async throws {
        let (path, options) = (outputPath, options(keys))
        let folder = try PackageFolder(path, replaces: isForced)
        unfinished.add(folder.hidden)
        let alignment = isAligned ? segmentDuration.wholeMilliseconds : nil
        var inputs = PackageInputs(alignment: alignment)
        for input in self.inputs {
            if let stream = try StreamSource(input) {
                try await inputs.add(stream, servers, ScratchFolder(near: path, unfinished), folder, console)
            } else {
                try await inputs.add(input, named: input, folder, console)
            }
        }
        let packager = try Packager(inputs.sources, texts: inputs.texts, options)
        var drawn: PackagedThumbnails?
        if thumbnails > .zero { drawn = try inputs.thumbnails(every: thumbnails.wholeMilliseconds, to: folder) }
        let bar = console.progress("packaging \(path)", totalBytes: packager.byteCount)
        defer { bar.finish() }
        let summary = try packager.write(to: folder, thumbnails: drawn) { done, _ in bar.advance(to: done) }
        try folder.commit()
        bar.finish()
        report(summary, options, inputs.warnings + summary.warnings, console)
    }

    /// Packages each file as a separate DCF.
    private func packageDCF(_ keys: PackagingKeys, _ unfinished: UnfinishedOutput, _ console: Console) throws {
        guard let key = keys.video.first ?? keys.audio.first else {
            throw MediaError(.missingKey, "--scheme dcf encrypts, and no key is given")
        }
        var names: [String: String] = [:]
        for input in inputs {
            let name = Self.name(ofDCF: input)
            if let other = names.updateValue(input, forKey: name) {
                throw UsageError(.contradiction, "\(other) and \(input) would both become \(name): package them one by one")
            }
        }
        let readers = try inputs.map { try LocalFile($0) }
        let folder = try PackageFolder(outputPath, replaces: isForced)
        unfinished.add(folder.hidden)
        let bar = console.progress("packaging \(outputPath)", totalBytes: readers.reduce(0) { $0 + $1.length })
        defer { bar.finish() }
        var done: Int64 = 0
        var written: [JSON] = []
        for (number, reader) in readers.enumerated() {
            let name = Self.name(ofDCF: reader.path)
            // each content has a unique ID, even with the same key
            var content = contentID ?? "cid:\(key.id)"
            if readers.count > 1 { content += contentID == nil ? "-\(number + 1)" : "/\(name)" }
            let start = done
            try DCFPackage.write(
                reader,
                contentType: DCFPackage.contentType(ofFile: reader.path),
                contentID: content,
                key: key,
                isCounter: false,
                to: folder.create(name)
            ) { done in bar.advance(to: start + done) }
            done += reader.length
            written.append(.string("\(outputPath)/\(name)"))
        }
        try folder.commit()
        bar.finish()
        if output.json {
            console.print(["output": .string(outputPath), "scheme": .string(scheme.rawValue), "files": .array(written)])
        } else {
            for path in written { console.print(path.string ?? "") }
        }
    }

    private static func name(ofDCF path: String) -> String { "\(path.split(separator: "/").last ?? "file").dcf" }

    private func report(_ summary: PackageSummary, _ options: PackagingOptions, _ warnings: [String], _ console: Console) {
        let playlist = summary.hasPlaylists ? "\(outputPath)/\(PackageFolder.playlistName)" : nil
        let manifest = options.isTransport ? nil : "\(outputPath)/\(PackageFolder.manifestName)"
        for warning in warnings { console.warning(warning) }
        if scheme == .cissa { console.note("the playlists have no key line: messages in the streams name their keys") }
        if output.json {
            console.print([
                "output": .string(outputPath), "scheme": .string(scheme.rawValue), "duration": .real(summary.seconds),
                "playlist": playlist.map { .string($0) } ?? .null, "manifest": manifest.map { .string($0) } ?? .null,
                "tracks": .array(summary.tracks.map(Self.json)), "hasKeyLines": .bool(summary.hasKeyLines),
                "warnings": .array(warnings.map { .string($0) }),
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
