// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaPackaging
import Testing

struct `Subtitles of a package` {
    private static let text = """
        WEBVTT

        00:00:01.000 --> 00:00:03.500
        Hello

        """

    @Test func `are refused if cues that span all cuts would fill the disk`() async throws {
        let line = String(repeating: "x", count: 4 << 20)
        let bytes = Array(
            (0..<4).map { _ in "\n00:00.000 --> 01:00.000\n\(line.prefix(4_000_000))\n" }.reduce("WEBVTT\n", +).utf8
        )
        let text = try PackagingText(name: "a.vtt", bytes, language: nil)
        await #expect(throws: MediaError.self) {
            _ = try await PackagingRun(["src/av-h264-aac.mp4"], texts: [text], PackagingRun.options(nil))
        }
    }

    @Test func `count from the start of the media in transport streams`() async throws {
        let text = try PackagingText(name: "a.vtt", Array(Self.text.utf8), language: nil)
        var options = PackagingRun.options(nil)
        options.isTransport = true
        let run = try await PackagingRun(["src/av-h264-aac.mp4"], texts: [text], options)
        #expect(try run.text("text-1/1.vtt").contains("MPEGTS:900000,"))
    }

    @Test(arguments: [
        ("film.de.vtt", "de"), ("a/film.eng.vtt", "en"), ("film.pt-BR.vtt", "pt-BR"), ("film.vtt", nil), ("a.b.c/film.vtt", nil),
        ("film.final.vtt", nil),
    ])
    func `have the language that the file name ends with`(name: String, language: String?) {
        #expect(PackagingText.language(ofFile: name) == language)
    }
}
