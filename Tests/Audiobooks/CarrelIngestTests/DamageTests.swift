// SPDX-License-Identifier: Apache-2.0

import CarrelIngest
import CarrelPackager
import CarrelTesting
import Testing

/// Files that are protected or whose end is missing.
struct `A file` {
    /// The sample entry of iTunes' protected files (`drms`), with what protects it.
    private func protected(_ intake: Intake) async throws -> String {
        try await intake.tone("book.m4b", 3, ["-c:a", "aac", "-f", "ipod"])
        return intake.directory.write("book.m4b", MP4Patch.renamed(intake.directory.read("book.m4b") ?? [], to: "drms"))
    }

    @Test func `that FairPlay protects is refused with what to do`() async throws {
        let intake = try Intake()
        let path = try await protected(intake)
        let refusal = intake.refusal(of: path)
        #expect(refusal?.code == .protected)
        #expect(refusal?.description == "\(path): is protected by Apple FairPlay: only who made it can take that off")
        #expect(refusal?.hint?.contains("unprotected master") == true)
        #expect(intake.refusal(of: path) { $0.allowTruncated = true }?.code == .protected)
    }

    @Test func `of a folder that FairPlay protects is named`() async throws {
        let intake = try Intake()
        _ = intake.folder("book")
        let path = try await protected(intake)
        try await intake.tone("book/1.m4a", 1, ["-c:a", "aac"])
        intake.directory.write("book/2.m4a", intake.directory.read("book.m4b") ?? [])
        let refusal = intake.refusal(of: intake.directory.file("book"))
        #expect(refusal?.code == .protected && refusal?.path == "2.m4a", "\(path)")
    }

    /// If the movie box comes first, the remaining audio can be found.
    @Test func `of MP4 that is cut off says how much is usable, and gives it when told to`() async throws {
        let intake = try Intake()
        let options = ["-c:a", "aac", "-b:a", "64k", "-movflags", "+faststart", "-f", "ipod"]
        let path = try await intake.tone("book.m4b", 20, hertz: 700, options)
        let whole = intake.directory.read("book.m4b") ?? []
        let cut = intake.directory.write("cut.m4b", Array(whole.prefix(whole.count / 2)))
        let refusal = intake.refusal(of: cut)
        #expect(refusal?.code == .truncated)
        #expect(refusal?.reason.hasSuffix("0:00:09 are usable") == true, "\(String(describing: refusal))")
        #expect(refusal?.hint == "--allow-truncated takes what is usable")
        let title = try intake.take(cut) { $0.allowTruncated = true }
        #expect(abs(title.durationMS - 9500) < 500)
        #expect(title.warnings.count == 1 && title.warnings[0].contains("took the usable 0:00:09"), "\(title.warnings)")
        let samples = try await intake.decode(try intake.media(of: title))
        #expect(samples.count == Int(title.index.totalSamples))
        #expect(try await intake.decode(path, ["-ignore_editlist", "1"]).starts(with: samples))
    }

    @Test func `of MP4 that is cut off right after its index is refused as that, told or not`() async throws {
        let intake = try Intake()
        let options = ["-c:a", "aac", "-b:a", "64k", "-movflags", "+faststart", "-f", "ipod"]
        try await intake.tone("book.m4b", 5, options)
        let whole = intake.directory.read("book.m4b") ?? []
        let start = try #require(whole.indices.dropLast(4).first { Array(whole[$0..<$0 + 4]) == Array("mdat".utf8) })
        let cut = intake.directory.write("cut.m4b", Array(whole.prefix(start + 4)))
        for allowed in [false, true] {
            let refusal = intake.refusal(of: cut) { $0.allowTruncated = allowed }
            #expect(refusal?.code == .truncated, "\(String(describing: refusal))")
            #expect(refusal?.reason.hasSuffix("nothing of it is usable") == true, "\(String(describing: refusal))")
        }
    }

    @Test func `refuses MP4 whose movie box is after the cut, with or without the option`() async throws {
        let intake = try Intake()
        try await intake.tone("book.m4b", 20, ["-c:a", "aac", "-f", "ipod"])
        let whole = intake.directory.read("book.m4b") ?? []
        let cut = intake.directory.write("cut.m4b", Array(whole.prefix(whole.count / 2)))
        for allowed in [false, true] {
            let refusal = intake.refusal(of: cut) { $0.allowTruncated = allowed }
            #expect(refusal?.code == .malformed)
            #expect(refusal?.reason.contains("is cut off before its index") == true, "\(String(describing: refusal))")
        }
    }

    @Test func `that cannot be read is said to be so`() throws {
        let intake = try Intake()
        #expect(intake.refusal(of: intake.directory.file("none.mp3"))?.code == .unreadable)
        #expect(intake.refusal(of: "/dev/null")?.description == "/dev/null: is not a file")
        #expect(intake.refusal(of: intake.directory.write("empty.mp3", ""))?.code == .empty)
    }
}
