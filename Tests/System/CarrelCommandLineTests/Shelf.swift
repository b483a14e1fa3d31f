// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine

/// A small program that uses every kind of parameter; what the tests run.
struct Shelf: Command {
    static let name = "shelf"
    static let abstract = "Keep books on a shelf."
    static let discussion =
        "A shelf is a folder. Nothing leaves it without an order, and an order names one reader, one book and the days it is for."
    static let headings: KeyValuePairs<String, [any Command.Type]> = ["Books": [Add.self], "Orders": [Order.self, Fail.self]]
    static let suggestions = ["lend": "shelf order create"]

    static let program = Program(Shelf.self, version: "1.2.3")
}

struct Add: Command {
    enum Kind: String, CaseIterable, TextValue {
        case audiobook, ebook
    }

    var home = "."
    var kind = Kind.audiobook
    var chapter = Duration.seconds(600)
    var limit: ByteCount?
    var tags: [String] = []
    var check = true
    var dryRun = false
    var offset = 0
    var paths: [String] = []
    var output = OutputOptions()

    static let name = "add"
    static let abstract = "Put books on the shelf."
    static let examples = [
        Example("shelf add tale.mp3", "Puts one book on the shelf of this folder."),
        Example("shelf add --kind ebook -t poems -t 'read aloud' *.epub", "Puts several on it, under two tags."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.paths, "path", help: "The files to add.", required: true, completion: .file),
            .option(\.home, "--home", value: "folder", help: "The shelf.", environment: "SHELF_HOME", completion: .directory),
            .option(\.kind, "--kind", "-k", value: "kind", help: "What they are."),
            .option(
                \.chapter,
                "--chapter",
                help: "How long a chapter is at most.",
                group: "Splitting",
                allowed: .atLeast(.seconds(1))
            ),
            .option(\.limit, "--limit", "-l", help: "Refuse a file of more than so many bytes.", group: "Splitting"),
            .option(\.offset, "--offset", "-o", help: "Where to begin, in seconds.", allowed: .range(-60...60)),
            .option(\.tags, "--tag", "-t", help: "What they will be found under."),
            .flag(\.check, "--check", inverse: true, help: "Read every file before any is added."),
            .flag(\.dryRun, "--dry-run", "-n", help: "Only say what would be done."),
        ] + group(\.output)

    static func group(_ path: any WritableKeyPath<Add, OutputOptions> & Sendable) -> [Parameter<Add>] { Parameter.group(path) }

    func run(_ console: Console) async throws {
        let words = [
            "home=\(home)", "kind=\(kind)", "chapter=\(chapter.written)", "limit=\(limit?.written ?? "none")", "tags=\(tags)",
            "check=\(check)", "dryRun=\(dryRun)", "offset=\(offset)", "paths=\(paths)", "json=\(output.json)",
            "quiet=\(output.quiet)",
        ]
        console.note("adding \(paths.count)")
        console.print(words.joined(separator: " "))
    }
}

struct Order: Command {
    static let name = "order"
    static let abstract = "Make and list orders."
    static let subcommands: [any Command.Type] = [Create.self, List.self]
    static let aliases: [any Command.Type] = [Add.self]

    struct Create: Command {
        var title = ""
        var from: Instant?
        var until: Instant?
        var reader: String?

        static let name = "create"
        static let abstract = "Make an order."
        static let parameters: [Parameter<Self>] = [
            .option(\.title, "--title", "-t", value: "id", help: "The book.", required: true),
            .option(\.from, "--from", help: "When it begins."),
            .option(\.until, "--until", help: "When it ends."),
            .positional(\.reader, "reader", help: "Who may read it."),
        ]

        func validate() throws(UsageError) {
            if let from, let until, until <= from { throw UsageError(.contradiction, "--until is not after --from") }
        }

        func run(_ console: Console) async throws {
            console.print(
                "title=\(title) from=\(from?.written ?? "now") until=\(until?.written ?? "ever") reader=\(reader ?? "anyone")"
            )
        }
    }

    struct List: Command {
        static let name = "list"
        static let abstract = "List orders."

        func run(_ console: Console) async throws {
            var table = TextTable([.init("reader"), .init("title", canShrink: true), .init("days", isNumeric: true)])
            table.add(["ada", "A Tale of Very Many Words That Does Not End Soon", "7"])
            table.add(["zoë", "三体 \u{1b}[31mred", "365"])
            console.print(table)
        }
    }
}

struct Fail: Command {
    struct Broken: ReportableError {
        let message = "the shelf is broken \u{1b}[2J"
        let hint: String? = "repair it"
        let exitStatus = ExitStatus.unavailable
    }
    struct Plain: Error, CustomStringConvertible {
        let description = "something else"
    }

    var plainly = false
    static let name = "fail"
    static let abstract = "Fail."
    static let parameters: [Parameter<Self>] = [.flag(\.plainly, "--plainly", help: "With an error that knows no hint.")]

    func run(_ console: Console) async throws {
        console.warning("this will fail", hint: "expect it")
        if plainly { throw Plain() }
        throw Broken()
    }
}
