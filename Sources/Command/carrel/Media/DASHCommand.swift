// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelDASH
import CarrelJSON

struct DASHCommand: Command {
    static let name = "dash"
    static let abstract = "DASH media presentation descriptions."
    static let subcommands: [any Command.Type] = [DASHPrint.self]
}

struct DASHPrint: Command {
    var file = ""
    var now: Instant?
    var url: String?
    var output = OutputOptions()

    static let name = "print"
    static let abstract = "Read an MPD and print the segments of its representations."
    static let discussion = """
        Of a dynamic MPD, the segments available at an instant are printed. A malformed MPD is refused with status 65, with the \
        place. Remote elements (xlink) are named and not fetched. Addresses are resolved with --url; otherwise they stay relative.
        """
    static let examples = [
        Example("carrel dash print manifest.mpd", "Lists the representations."),
        Example("carrel dash print live.mpd --json --now 2026-01-31T18:00:00Z", "Prints what was available at an instant."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.file, "mpd", help: "An MPD file; - for standard input.", completion: .file),
            .option(\.now, "--now", help: "The instant for which to list a dynamic MPD; default: now."),
            .option(\.url, "--url", value: "url", help: "Address of the MPD, which relative addresses are resolved against."),
        ] + Parameter.group(\.output)

    /// Most segments that are printed.
    private static let limit = 1_000_000

    func run(_ console: Console) async throws {
        let bytes = try ManifestFile.read(file, atMost: ManifestFile.limit)
        let now = now ?? Instant.now()
        do throws(Malformed) {
            let mpd = try MPD.parse(bytes.rawSpan)
            var streams: [(stream: MPDStream, segments: MPDSegments, range: Range<Int>)] = []
            var total = 0
            for stream in mpd.streams(url: url) {
                let segments = try stream.segments()
                if mpd.kind == .isStatic, segments.count == nil { throw Malformed("segments go on without an end", at: 0) }
                let range = segments.available(in: mpd, at: now)
                total += range.count
                guard total <= Self.limit else { throw Malformed("MPD has more than \(Self.limit) segments", at: 0) }
                streams.append((stream, segments, range))
            }
            if output.json {
                console.write(MPDJSON(mpd, streams).text)
            } else {
                Self.list(mpd, streams, console)
            }
        } catch {
            throw ManifestFailure(file, error)
        }
    }

    private static func list(
        _ mpd: MPD,
        _ streams: [(stream: MPDStream, segments: MPDSegments, range: Range<Int>)],
        _ console: Console
    ) {
        console.print("\(mpd.kind.rawValue) MPD: \(mpd.periods.count) periods, \(streams.count) representations")
        var table = TextTable(["PERIOD", "START", "REPRESENTATION", "BANDWIDTH", "WHAT", "SEGMENTS", "KEYS"])
        for (stream, _, range) in streams {
            let period = mpd.periods[stream.position.period]
            let size = stream.properties.width.flatMap { width in stream.properties.height.map { "\(width)x\($0) " } } ?? ""
            table.add([
                period.id ?? String(stream.position.period + 1), JSON.seconds(stream.period.start).description, stream.id,
                String(stream.bandwidth), size + (stream.properties.codecs ?? stream.properties.mimeType ?? ""),
                String(range.count),
                stream.keyIDs.joined(separator: " "),
            ])
        }
        console.print(table)
        for link in mpd.links { console.note("not fetched: \(link.element) at \(link.href)") }
    }
}
