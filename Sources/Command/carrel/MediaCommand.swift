// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelDCF
import CarrelJSON
import CarrelLicenseKeys
import CarrelMedia
import CarrelMediaInspection
import CarrelThreads

struct MediaCommand: Command {
    static let name = "media"
    static let abstract = "Look into media files."
    static let discussion =
        "'carrel media decrypt', 'package', 'proxy', 'hls' and 'dash' are the commands 'carrel decrypt' and so on."
    static let subcommands: [any Command.Type] = [MediaInspectCommand.self]
    static let aliases: [any Command.Type] = [
        DecryptCommand.self, PackageCommand.self, ProxyCommand.self, HLSCommand.self, DASHCommand.self,
    ]
    static let suggestions = ["play": "carrel proxy", "print": "carrel hls print"]
}

struct MediaInspectCommand: Command {
    var file = ""
    var output = OutputOptions()

    static let name = "inspect"
    static let abstract = "Show the tracks, the protection and the structure of a media file."
    static let discussion = """
        Knows MP4 and its segments, OMA DCF, MPEG-2 transport streams, HLS playlists, DASH MPDs, and audio frames without a \
        container. Needs no key and shows none; nothing that a file names is fetched. Key ids and content ids are the names that \
        'carrel decrypt' takes. A URL is read by byte ranges: of a long transport stream its beginning and its end. Plain http is \
        for servers on this machine. A file of another kind exits with status 65.
        """
    static let examples = [
        Example("carrel media inspect film.mp4", "Shows its tracks, how they are protected, and its boxes."),
        Example("carrel media inspect film.mp4 --json", "The same for a program."),
        Example("carrel media inspect https://media.example/live.mpd", "Shows the representations of an MPD."),
    ]
    static let parameters: [Parameter<Self>] =
        [.positional(\.file, "file", help: "A media file, a playlist or an MPD, or an address (https:).")]
        + Parameter.group(\.output)

    func run(_ console: Console) async throws {
        let path = file
        let facts: JSON
        do {
            let isRemote = path.hasPrefix("https://") || path.hasPrefix("http://")
            facts = isRemote ? try await Self.describe(url: path) : try await Self.describe(path: path)
        } catch let error as Malformed {
            throw DamagedMedia(path: path, what: error.description)
        } catch let error as DCFError {
            throw DamagedMedia(path: path, what: error.message)
        } catch let error as MediaError where error.code == .unsupported {
            // without the hint to look here
            throw UnknownMedia(message: error.message)
        }
        if output.json { console.print(facts) } else { console.print(MediaInspection.text(facts)) }
    }

    private static func describe(path: String) async throws -> JSON {
        let reader = try LocalFile(path)
        return try await BlockingThreadPool(name: "inspect", count: 1).run { try MediaInspection.describe(reader, name: path) }
    }

    private static func describe(url: String) async throws -> JSON {
        try HTTPMediaClient.check(url)
        let reader = try await RemoteFile(url, client: HTTPMediaClient())
        return try await BlockingThreadPool(name: "inspect", count: 1).run {
            try MediaInspection.describe(reader, name: url, extent: .ends)
        }
    }
}

/// A file of no known kind.
struct UnknownMedia: ReportableError {
    let message: String

    var exitStatus: ExitStatus { .badInput }
}
