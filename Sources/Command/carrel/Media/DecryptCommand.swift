// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelDCF
import CarrelJSON
import CarrelMedia
import CarrelThreads
import CarrelTranscoding
import Glibc

struct DecryptCommand: Command {
    var file = ""
    var outputPath = ""
    var object = 1
    var requiresVerified = false
    var isForced = false
    var servers = StreamOptions()
    var keys = KeyOptions<GivenKeys>()
    var output = OutputOptions()

    static let name = "decrypt"
    static let abstract = "Decrypt a media file with keys of yours."
    static let discussion = """
        Opens Common Encryption (cenc, cens, cbc1, cbcs), PIFF, OMA DCF and PDCF, ISMACryp, Marlin, scrambled transport streams, HLS \
        and DASH. Of a top playlist, a DASH manifest and an address the variant of the highest bit rate is read, with its audio. The keys are those that you pass: no home, license or vault is asked. The output appears whole or not at all; an existing file \
        is kept unless --force is given. -o - writes to standard output, in order. A name that ends in .ts gives an MPEG-2 transport stream, any \
        other an MP4 file, the payload of a DCF, or the segments of a playlist. Transport streams, packed audio and streams with audio apart \
        become MP4 by ffmpeg if the name ends in .mp4, .m4v, .m4a or .mov. A key that the clear media show to be wrong is an error; a warning names each key that \
        they do not show to be right.
        """
    static let examples = [
        Example(
            "carrel decrypt film.mp4 --key 0123456789abcdef0123456789abcdef:00112233445566778899aabbccddeeff -o clear.mp4",
            "Decrypts a film whose tracks have one key."
        ),
        Example(
            "carrel decrypt film.mp4 --keys keys.txt -o clear.ts",
            "Takes the keys from a file, and writes a transport stream."
        ),
        Example(
            "carrel decrypt https://example.org/film.mpd --keys keys.txt -o clear.mp4",
            "Reads a whole stream from its server."
        ),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(
                \.file,
                "file",
                help: "A media file, a playlist or a DASH manifest with its segments below its folder, or an address."
            ),
            .option(
                \.outputPath,
                "-o",
                "--output",
                value: "file",
                help: "The file for the clear media, - for standard output (not with --json).",
                required: true
            ),
            .flag(\.isForced, "--force", help: "Replace an existing output file."),
            .flag(
                \.requiresVerified,
                "--require-verified",
                help: "Write nothing unless the clear media show every key to be right."
            ),
            .option(\.object, "--object", value: "number", help: "Which object of a DCF with several, from 1."),
        ] + Parameter.group(\.servers) + Parameter.group(\.keys) + Parameter.group(\.output)

    func run(_ console: Console) async throws {
        let keys = try keys.keys()
        let isStandardOutput = OutputFile.isStandardOutput(outputPath)
        if output.json, isStandardOutput {
            throw UsageError(.contradiction, "--json and the clear media cannot both go to standard output")
        }
        if requiresVerified, isStandardOutput {
            throw UsageError(.contradiction, "--require-verified needs a file: standard output is written before all is checked")
        }
        if let stream = try StreamSource(file), !stream.isLocalPlaylist { return try await decrypt(stream, keys, console) }
        let reader = try LocalFile(file)
        guard !reader.isSame(as: outputPath) else { throw UsageError(.contradiction, "-o names the file that is read") }
        let form = outputPath.hasSuffix(".ts") ? MediaDecryption.Output.transportStream : .same
        let (path, place) = (file, outputPath)
        let (isForced, requiresVerified) = (isForced, requiresVerified)
        // an existing file is refused before the work
        if !isForced { try OutputFile.check(place) }
        do {
            let decryption = try await MediaDecryption(of: reader, as: form, object: object, keys: keys)
            let bar = console.progress("decrypting \(path)", totalBytes: decryption.totalLength ?? reader.length)
            defer { bar.finish() }
            let (length, omitted) = try await BlockingThreadPool(name: "decrypt", count: 1).run {
                let converts = try form == .same && Self.isMP4(place) && decryption.isStream()
                var sink = try OutputFile(place, replaces: isForced)
                if requiresVerified, sink.isSequential {
                    throw UsageError(.contradiction, "--require-verified needs a file: \(place) is written before all is checked")
                }
                let omitted: [String]
                if converts {
                    omitted = try Self.convert(decryption, near: place, to: &sink) { bar.advance(to: $0) }
                } else {
                    omitted = try decryption.write(to: &sink) { bar.advance(to: $0) }
                }
                if requiresVerified, let key = decryption.unverifiedKeys.first {
                    throw MediaError(
                        .unverifiedKey,
                        "the clear media do not show the key for \(key) to be right: nothing is written"
                    )
                }
                return (try sink.commit(), omitted)
            }
            bar.finish()
            for track in omitted { console.warning("left out: \(track)") }
            let unverified = decryption.unverifiedKeys
            for key in unverified { console.warning("the clear media do not show the key for \(key) to be right") }
            report(length, omitted.map { "left out: \($0)" }, isVerified: unverified.isEmpty, console)
        } catch let error as Malformed {
            throw DamagedMedia(path: path, what: error.description)
        } catch let error as DCFError {
            throw DamagedMedia(path: path, what: error.message)
        }
    }

    /// Decrypts a stream by a session of the proxy.
    private func decrypt(_ source: StreamSource, _ keys: GivenKeys, _ console: Console) async throws {
        if requiresVerified {
            throw UsageError(.contradiction, "--require-verified needs a media file, or a media playlist of this machine")
        }
        let (place, isForced) = (outputPath, isForced)
        if !isForced { try OutputFile.check(place) }
        let unfinished = UnfinishedOutput()
        do {
            let folder = try ScratchFolder(near: place, unfinished)
            let bar = console.progress("decrypting \(source.name)", totalBytes: nil)
            defer { bar.finish() }
            let copy = try await StreamCopy.read(source, servers, keys: keys, to: folder, bar)
            let length = try await BlockingThreadPool(name: "decrypt", count: 1).run {
                let sink = try OutputFile(place, replaces: isForced)
                try copy.write(isTransport: !Self.isMP4(place)) { try sink.write($0) }
                return try sink.commit()
            }
            bar.finish()
            for warning in copy.warnings { console.warning(warning) }
            let isVerified = !copy.isProtected && keys.isEmpty
            if !isVerified { console.warning("the media of a stream do not show its keys to be right, only some wrong ones") }
            report(length, copy.warnings, isVerified: isVerified, console)
        } catch {
            await unfinished.finish()
            throw error
        }
        await unfinished.finish()
    }

    private func report(_ length: Int64, _ warnings: [String], isVerified: Bool, _ console: Console) {
        if output.json {
            console.print([
                "output": .string(outputPath), "bytes": .integer(length), "verified": .bool(isVerified),
                "warnings": .array(warnings.map(JSON.string)),
            ])
        } else if !OutputFile.isStandardOutput(outputPath) {
            console.print("wrote \(outputPath): \(length) bytes")
        }
    }

    private static func isMP4(_ path: String) -> Bool {
        [".mp4", ".m4v", ".m4a", ".mov"].contains { path.lowercased().hasSuffix($0) }
    }

    /// Writes a clear stream, and copies its media into an MP4 file by ffmpeg.
    private static func convert(
        _ decryption: MediaDecryption,
        near place: String,
        to sink: inout OutputFile,
        progress: (Int64) -> Void
    ) throws -> [String] {
        let folder = try ScratchFolder(near: place, UnfinishedOutput())
        let path = "\(folder.path)/clear"
        var stream = try OutputFile(path)
        let omitted = try decryption.write(to: &stream, progress: progress)
        try stream.commit()
        do {
            let writer = sink
            try FFmpegInput(path).copy { piece in try writer.write(piece) }
        } catch let error as TranscodingError {
            throw UnreadableInput(path: "the clear stream", error: error)
        }
        return omitted
    }
}
