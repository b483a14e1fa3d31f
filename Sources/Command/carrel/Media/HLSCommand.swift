// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelHLS
import CarrelJSON

struct HLSCommand: Command {
    static let name = "hls"
    static let abstract = "HLS playlists."
    static let subcommands: [any Command.Type] = [HLSPrint.self]
}

struct HLSPrint: Command {
    var file = ""
    var isLenient = false
    var url: String?
    var output = OutputOptions()

    static let name = "print"
    static let abstract = "Read a playlist and print its segments, or its variants and renditions."
    static let discussion = """
        A playlist that breaks a rule of RFC 8216 is refused with status 65, with the place. With --lenient, a breach that \
        leaves the meaning plain becomes a warning. Addresses are printed as they are written, or resolved with --url.
        """
    static let examples = [
        Example("carrel hls print media.m3u8", "Lists the segments."),
        Example("carrel hls print media.m3u8 --json --lenient", "Prints a playlist of others as JSON."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.file, "playlist", help: "A playlist file; - for standard input.", completion: .file),
            .flag(\.isLenient, "--lenient", help: "Warn of breaches that leave the meaning plain, and read on."),
            .option(
                \.url,
                "--url",
                value: "url",
                help: "Address of the playlist, which relative addresses are resolved against."
            ),
        ] + Parameter.group(\.output)

    func run(_ console: Console) async throws {
        let bytes = try ManifestFile.read(file, atMost: ManifestFile.limit)
        let reading: PlaylistReading
        do throws(Malformed) {
            reading = try Playlist.read(bytes, strictness: isLenient ? .lenient : .strict, url: url)
        } catch {
            throw ManifestFailure(
                file,
                error,
                hint: isLenient ? nil : "--lenient passes over breaches that leave the meaning plain"
            )
        }
        switch reading.playlist {
        case .media(let playlist):
            if output.json {
                console.write(MediaPlaylistJSON(playlist, url: url, warnings: reading.warnings).text)
            } else {
                Self.list(playlist, url, console)
            }
        case .multivariant(let playlist):
            if output.json {
                console.print(MultivariantPlaylistJSON(playlist, url: url, warnings: reading.warnings).value)
            } else {
                Self.list(playlist, url, console)
            }
        }
        if !output.json { for warning in reading.warnings { console.warning("\(file): \(warning.text)") } }
    }

    private static func list(_ playlist: MediaPlaylist, _ url: String?, _ console: Console) {
        let state = playlist.isEnded ? "ended" : "may grow"
        console.print(
            "media playlist: \(playlist.segments.count) segments, target duration \(playlist.targetDuration) s, \(state)"
        )
        var table = TextTable(["NUMBER", "START", "DURATION", "KEY", "RANGE", "URL"])
        for (index, (segment, start)) in zip(playlist.segments, playlist.startTimes).enumerated() {
            let key = segment.keys.first.map(\.method.rawValue) ?? ""
            let range = segment.byteRange.map { "\($0.length)@\($0.offset)" } ?? ""
            let marks = (segment.discontinuity ? " (discontinuity)" : "") + (segment.isGap ? " (gap)" : "")
            table.add([
                String(playlist.sequenceNumber(ofSegmentAt: index)), JSON.seconds(start).description,
                JSON.seconds(segment.duration).description, key, range,
                URIReference.resolve(segment.uri, against: url) + marks,
            ])
        }
        console.print(table)
    }

    private static func list(_ playlist: MultivariantPlaylist, _ url: String?, _ console: Console) {
        console.print("multivariant playlist: \(playlist.variants.count) variants, \(playlist.renditions.count) renditions")
        var table = TextTable(["KIND", "BANDWIDTH", "WHAT", "URL"])
        for variant in playlist.variants {
            let size = variant.resolution.map { "\($0.width)x\($0.height) " } ?? ""
            table.add([
                "variant", String(variant.bandwidth), size + (variant.codecs ?? ""),
                URIReference.resolve(variant.uri, against: url),
            ])
        }
        for rendition in playlist.renditions {
            let what = "\(rendition.groupID): \(rendition.name)" + (rendition.language.map { " (\($0))" } ?? "")
            table.add([rendition.kind.lowercased(), "", what, rendition.uri.map { URIReference.resolve($0, against: url) } ?? ""])
        }
        for (kind, variants) in [("i-frames", playlist.iFrameVariants), ("images", playlist.imageVariants)] {
            for variant in variants {
                table.add([
                    kind, variant.bandwidth.map { String($0) } ?? "", variant.resolution.map { "\($0.width)x\($0.height)" } ?? "",
                    URIReference.resolve(variant.uri, against: url),
                ])
            }
        }
        console.print(table)
    }
}

extension PlaylistWarning {
    /// The warning for people.
    var text: String { "\(message) at byte \(offset)" + (count > 1 ? ", and \(count - 1) times more" : "") }

    var json: JSON {
        ["code": .string(code.rawValue), "message": .string(message), "offset": .integer(offset), "count": .integer(count)]
    }
}
