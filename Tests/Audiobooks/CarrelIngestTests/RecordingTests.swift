// SPDX-License-Identifier: Apache-2.0

@testable import CarrelIngest
import CarrelAudio
import CarrelTesting
import Glibc
import Testing

/// A title made of several files.
struct `A set of parts` {
    @Test(arguments: ["mp3", "m4a", "flac"])
    func `keeps one of the pictures that each part carries`(suffix: String) async throws {
        let intake = try Intake()
        let folder = intake.folder("book")
        // Each part has a picture of its own.
        let codec = ["mp3": "libmp3lame", "m4a": "aac", "flac": "flac"][suffix] ?? ""
        for (number, color) in ["red", "green", "blue"].enumerated() {
            let inputs = ["-f", "lavfi", "-i", "sine=duration=1", "-f", "lavfi", "-i", "color=\(color):s=64x64:d=1:r=1"]
            let outputs = [
                "-map", "0:a", "-map", "1:v", "-c:a", codec, "-c:v", "png", "-frames:v", "1", "-disposition:v:0", "attached_pic",
            ]
            let ffmpeg = [try requirePeer("ffmpeg"), "-nostdin", "-v", "error"]
            try await checkProcess(ffmpeg + inputs + outputs + ["\(folder)/\(number + 1).\(suffix)"])
        }
        var options = IngestOptions()
        options.sampleSeconds = 0
        let scratch = Scratch(intake.directory.file("scratch"))
        let work = IngestWork(blobs: intake.blobs, scratch: scratch) { _ in }
        let parts = try SourceParts(folder: folder, name: "book")
        let recording = try Recording.make(of: parts, work, options)
        #expect(recording.tags.map { $0.cover != nil } == [true, false, false])
        let cover = try #require(try Ingest(work, options).run(folder, sourceHash: []).cover)
        #expect(try intake.bytes(of: cover.blob) == recording.tags[0].cover?.bytes)
    }

    @Test func `that is replaced while it is read is refused`() async throws {
        let intake = try Intake()
        let path = try await intake.tone("a.mp3", 1, ["-c:a", "libmp3lame"])
        let file = try SourceFile(path: path, name: "a.mp3")
        #expect(try file.bytes(0..<4).count == 4)
        file.rest()
        #expect(try file.bytes(0..<4).count == 4, "it is opened again")
        file.rest()
        intake.directory.write("a.mp3", [UInt8](repeating: 0, count: 10))
        #expect(throws: IngestError(.unreadable, "a.mp3", "")) { try file.bytes(0..<4) }
    }
}

/// Temporary files of several processes.
struct `The scratch folder` {
    @Test func `keeps files in use by a process, and nothing else`() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("scratch")
        var first: Scratch? = Scratch(path)
        let name = try #require(try first?.newName())
        #expect(close(unsafe open(name, O_CREAT | O_WRONLY, 0o600)) == 0)
        // What an earlier version left, and what a process of another time did, whose number this process has now.
        for old in ["\(getpid())-old", "1-old", "nobody-knows"] { directory.write("scratch/\(old)", "x") }
        let second = Scratch(path)
        _ = try second.newName()
        #expect(unsafe access(name, F_OK) == 0, "its lock is held, here as in another process")
        for old in ["\(getpid())-old", "1-old", "nobody-knows"] { #expect(directory.read("scratch/\(old)") == nil) }
        first = nil
        _ = try second.newName()
        #expect(unsafe access(name, F_OK) != 0)
    }
}
