// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelIngest
import CarrelPackager
import CarrelStore
import CarrelTesting
import Glibc
import Testing

/// A blob store and a scratch folder of a test, and the titles ingested into them.
struct Intake {
    let directory = TemporaryDirectory()
    let blobs: DirectoryBlobStore

    init() throws {
        blobs = try DirectoryBlobStore(path: directory.file("blobs"))
    }

    /// Takes what is at `path` in; nothing stays in the scratch folder, whatever becomes of it.
    func take(_ path: String, _ configure: (inout IngestOptions) -> Void = { _ in }) throws -> IngestedTitle {
        var options = IngestOptions()
        configure(&options)
        let work = IngestWork(blobs: blobs, scratch: Scratch(directory.file("scratch"))) { _ in }
        defer { #expect(scratchFiles == [], "the scratch folder is empty") }
        return try Ingest(work, options).run(path, sourceHash: try Ingest.sourceHash(path) { _ in })
    }

    /// The error with which the ingest refuses a source.
    func refusal(of path: String, _ configure: (inout IngestOptions) -> Void = { _ in }) -> IngestError? {
        #expect(throws: IngestError.self) { try take(path, configure) }
    }

    private var scratchFiles: [String] {
        guard let folder = unsafe opendir(directory.file("scratch")) else { return [] }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// All of a blob.
    func bytes(of blob: BlobID) throws -> [UInt8] {
        let open = try blobs.open(blob)
        return try open.bytes(at: 0, count: Int(open.byteCount))
    }

    /// Makes a folder in the test's own.
    func folder(_ name: String) -> String {
        unsafe mkdir(directory.file(name), 0o700)
        return directory.file(name)
    }

    /// Makes an audio file with ffmpeg: a tone of this frequency.
    @discardableResult
    func tone(_ name: String, _ seconds: Double, hertz: Int = 440, rate: Int = 44_100, _ options: [String] = []) async throws
        -> String
    {
        let source = "sine=frequency=\(hertz):sample_rate=\(rate):duration=\(seconds)"
        let path = directory.file(name)
        let ffmpeg = [try requirePeer("ffmpeg"), "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", source]
        try await checkProcess(ffmpeg + options + [path])
        return path
    }

    /// Decodes a file with ffmpeg: samples of one channel, without dropping any at the ends.
    func decode(_ path: String, _ options: [String] = []) async throws -> [Int16] {
        let result = try await runProcess(
            [try requirePeer("ffmpeg"), "-nostdin", "-v", "error", "-flags2", "+skip_manual"] + options + ["-i", path]
                + ["-map", "0:a:0", "-ac", "1", "-f", "s16le", "-"]
        )
        #expect(result.errorText == "")
        #expect(result.status.isSuccess)
        return stride(from: 0, to: result.output.count - 1, by: 2).map {
            Int16(bitPattern: UInt16(result.output[$0]) | UInt16(result.output[$0 + 1]) << 8)
        }
    }

    /// A title's media as a file that ffmpeg reads.
    func media(of title: IngestedTitle) throws -> String {
        let suffix = if case .mp3 = title.index.format.codec { "mp3" } else { "aac" }
        return directory.write("media.\(suffix)", try bytes(of: title.media))
    }
}

/// The frequency of a tone, by its rising zero crossings; 0 if there are too few samples.
func frequency(_ samples: [Int16], _ range: Range<Int>, rate: Int) -> Double {
    guard samples.indices.contains(range.lowerBound), range.upperBound <= samples.count else { return 0 }
    let part = samples[range]
    return Double(zip(part, part.dropFirst()).count { $0 < 0 && $1 >= 0 }) * Double(rate) / Double(range.count)
}
