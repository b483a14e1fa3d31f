import CarrelBytes
import CarrelCommandLine
import CarrelDCF
import CarrelJSON
import CarrelMedia
import CarrelThreads

struct DecryptCommand: Command {
    var file = ""
    var outputPath = ""
    var object = 1
    var keys = ContentKeyOptions()
    var output = OutputOptions()

    static let name = "decrypt"
    static let abstract = "Decrypt a media file with keys of yours."
    static let discussion = """
        Opens Common Encryption (cenc, cens, cbc1, cbcs), PIFF, OMA DCF and PDCF, ISMACryp and Marlin. The keys are those that you \
        pass: no home, license or vault is asked. The output is written beside its place and renamed when it is whole; -o - writes to standard output, in order. A name that \
        ends in .ts gives an MPEG-2 transport stream, any other an MP4 file, or the payload of a DCF.
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
            .positional(\.file, "file", help: "A media file."),
            .option(
                \.outputPath,
                "-o",
                "--output",
                value: "file",
                help: "Where the clear media go, - for standard output (not with --json); an existing file is replaced.",
                required: true
            ),
            .option(\.object, "--object", value: "number", help: "Which object of a DCF with several, from 1."),
        ] + Parameter.group(\.keys) + Parameter.group(\.output)

    func run(_ console: Console) async throws {
        let keys = try keys.keys()
        let reader = try LocalFile(file)
        guard !reader.isSame(as: outputPath) else { throw UsageError(.contradiction, "-o names the file that is read") }
        if output.json, OutputFile.isStandardOutput(outputPath) {
            throw UsageError(.contradiction, "--json and the clear media cannot both go to standard output")
        }
        let form = outputPath.hasSuffix(".ts") ? MediaDecryption.Output.transportStream : .same
        let (path, place, object) = (file, outputPath, object)
        do {
            let decryption = try await MediaDecryption(of: reader, as: form, object: object, keys: keys)
            let bar = console.progress("decrypting \(path)", totalBytes: decryption.totalLength ?? reader.length)
            defer { bar.finish() }
            let (written, omitted) = try await BlockingThreadPool(name: "decrypt", count: 1).run {
                var sink = try OutputFile(place)
                let omitted = try decryption.write(to: &sink) { bar.advance(to: $0) }
                return (try sink.commit(), omitted)
            }
            for track in omitted { console.warning("left out: \(track)") }
            if output.json { console.print(["output": .string(place), "bytes": .integer(written)]) }
        } catch let error as Malformed {
            throw DamagedMedia(path: path, what: error.description)
        } catch let error as DCFError {
            throw DamagedMedia(path: path, what: error.message)
        }
    }
}
