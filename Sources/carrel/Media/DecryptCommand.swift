import CLinux
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
    var keys = ContentKeyOptions()
    var output = OutputOptions()

    static let name = "decrypt"
    static let abstract = "Decrypt a media file with keys of yours."
    static let discussion = """
        Opens Common Encryption (cenc, cens, cbc1, cbcs), PIFF, OMA DCF and PDCF, ISMACryp, Marlin, scrambled transport streams and local HLS \
        playlists. The keys are those that you pass: no home, license or vault is asked. The output appears whole or not at all; an existing file \
        is kept unless --force is given. -o - writes to standard output, in order. A name that ends in .ts gives an MPEG-2 transport stream, any \
        other an MP4 file, the payload of a DCF, or the segments of a playlist. Transport streams and packed audio become MP4 by ffmpeg if \
        the name ends in .mp4, .m4v, .m4a or .mov. A key that the clear media show to be wrong is an error; a warning names each key that \
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
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.file, "file", help: "A media file, or a media playlist with its segments below its folder."),
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
        ] + Parameter.group(\.keys) + Parameter.group(\.output)

    func run(_ console: Console) async throws {
        let keys = try keys.keys()
        try ManifestRefusal.check(file, for: Self.name, takesPlaylist: true)
        let reader = try LocalFile(file)
        guard !reader.isSame(as: outputPath) else { throw UsageError(.contradiction, "-o names the file that is read") }
        let isStandardOutput = OutputFile.isStandardOutput(outputPath)
        if output.json, isStandardOutput {
            throw UsageError(.contradiction, "--json and the clear media cannot both go to standard output")
        }
        if requiresVerified, isStandardOutput {
            throw UsageError(.contradiction, "--require-verified needs a file: standard output is written before all is checked")
        }
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
            report(length, omitted, decryption.unverifiedKeys, console)
        } catch let error as Malformed {
            throw DamagedMedia(path: path, what: error.description)
        } catch let error as DCFError {
            throw DamagedMedia(path: path, what: error.message)
        }
    }

    private func report(_ length: Int64, _ omitted: [String], _ unverified: [String], _ console: Console) {
        for track in omitted { console.warning("left out: \(track)") }
        for key in unverified { console.warning("the clear media do not show the key for \(key) to be right") }
        if output.json {
            console.print([
                "output": .string(outputPath), "bytes": .integer(length), "verified": .bool(unverified.isEmpty),
                "warnings": .array(omitted.map { .string("left out: \($0)") }),
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
        let folder = "\(place).carrel-\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
        guard unsafe mkdir(folder, 0o700) == 0 else {
            throw MediaError(.unwritable, "\(place) cannot be written: no folder can be made next to it")
        }
        let unfinished = UnfinishedOutput()
        unfinished.add(folder)
        defer { unsafe clinux_remove_tree(folder) }
        let path = "\(folder)/clear"
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
