// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMediaSource
import CarrelProxy
import Testing

/// The MPD does not tell the times of segments: they are in the index of each file.
struct `Pictures and audio of DASH with segment indexes` {
    private let origin = MadeOrigin()

    /// Writes a file with an index of segments of these durations in milliseconds.
    private func put(_ name: String, _ durations: [UInt32]) -> Int {
        var writer = BoxWriter()
        let references = durations.map { SegmentIndexBox.Reference(size: 1000, duration: $0) }
        SegmentIndexBox(trackID: 1, timescale: 1000, earliestTime: 0, references: references).write(to: &writer)
        origin.put(name, writer.bytes)
        return writer.bytes.count
    }

    private func set(_ kind: String, _ codecs: String, _ files: [(name: String, durations: [UInt32])]) -> String {
        var text = "<AdaptationSet mimeType=\"\(kind)/mp4\" contentType=\"\(kind)\">"
        for (place, file) in files.enumerated() {
            let length = put(file.name, file.durations)
            text += """
                <Representation id="\(kind)\(place)" bandwidth="\(place + 1)" codecs="\(codecs)"><BaseURL>\(file.name)</BaseURL>\
                <SegmentBase indexRange="0-\(length - 1)" timescale="1000"/></Representation>
                """
        }
        return text + "</AdaptationSet>"
    }

    /// Puts an MPD of bit rates and one audio there.
    private func putManifest(_ pictures: [[UInt32]], _ attributes: String = "type=\"static\"") {
        let files = pictures.enumerated().map { (name: "v\($0.offset).mp4", durations: $0.element) }
        let sets = set("video", "avc1.64000C", files) + set("audio", "mp4a.40.2", [("a.mp4", [2000, 2000, 2000])])
        origin.put(
            "made.mpd",
            """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" minBufferTime="PT2S" \(attributes)>\
            <Period start="PT0S" duration="PT6S">\(sets)</Period></MPD>
            """
        )
    }

    /// The request of the second player cancels what the first one waits for.
    @Test func `of a live source are decided for the player that waits while a newer manifest comes`() async throws {
        let attributes =
            "type=\"dynamic\" minimumUpdatePeriod=\"PT1S\" availabilityStartTime=\"\(Instant.now() - .seconds(1000))\""
        putManifest([[2000, 2000, 2000]], attributes)
        origin.serve("v0.mp4", .late(2500))
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("made.mpd"), .dash)
        let first = Task { try await ProxyRun.get(session.url) }
        try await Task.sleep(for: .milliseconds(1300))
        let second = try await ProxyRun.get(session.url)
        #expect(origin.requests.count { $0 == "made.mpd" } >= 2)
        for response in [try await first.value, second] {
            #expect(response.status == 200, "\(String(decoding: response.body, as: UTF8.self))")
        }
        #expect(run.codes == [])
        await run.proxy.stop()
    }
}
