import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import CarrelMedia
import CarrelThreads

struct MediaCommand: Command {
    static let name = "media"
    static let abstract = "Look into media files."
    static let subcommands: [any Command.Type] = [MediaInspectCommand.self]
}

struct MediaInspectCommand: Command {
    var file = ""
    var output = OutputOptions()

    static let name = "inspect"
    static let abstract = "Show the boxes, tracks and protection of a media file."
    static let discussion = """
        Reads the headers of MP4 files of any kind and of OMA DCF, never the samples; needs no key and shows none. Key ids and content \
        ids are what 'carrel decrypt' asks for.
        """
    static let examples = [
        Example("carrel media inspect film.mp4", "Shows its tracks, how they are protected, and its boxes."),
        Example("carrel media inspect film.mp4 --json", "The same for a program."),
    ]
    static let parameters: [Parameter<Self>] =
        [.positional(\.file, "file", help: "A media file.")] + Parameter.group(\.output)

    func run(_ console: Console) async throws {
        let reader = try LocalFile(file)
        let path = file
        let facts: JSON
        do {
            facts = try await BlockingThreadPool(name: "inspect", count: 1).run { try MediaInspection.describe(reader) }
        } catch let error as Malformed {
            throw DamagedMedia(path: path, what: error.description)
        }
        if output.json { console.print(facts) } else { console.print(MediaInspection.text(facts)) }
    }
}
