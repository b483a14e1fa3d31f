// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCommandLine
import CarrelFiles
import CarrelHome
import CarrelIngest
import CarrelJSON
import CarrelServer
import CarrelStore
import CarrelWorks
import Glibc

struct IngestCommand: HomeCommand {
    var options = HomeOptions()
    var paths: [String] = []
    var title: String?
    var subtitle: String?
    var authors: [String] = []
    var narrators: [String] = []
    var publisher: String?
    var language: String?
    var about: String?
    var isbn: String?
    var cover: String?
    var segmentSeconds = 10.0
    var sampleSeconds = 60.0
    var allowTruncated = false
    var strict = false
    var edition = EditionParameters()

    static let name = "ingest"
    static let abstract = "Add audiobooks and editions to the catalog."
    static let discussion = """
        A path is an MP3 file, a folder or ZIP of MP3 chapters, an M4A or M4B file, or another audio file, which \
        is converted to AAC. Formats: \(AcceptedAudioFormat.names). Titles, \
        authors, chapters, cover and ISBN are read from the files; the options below override them. Adding the same contents \
        again returns the existing title. With --product-id a path is an edition: an EPUB or PDF file, or a folder or ZIP of HTML \
        pages. If the product id exists, its contents are replaced. Several products may have the same contents.
        """
    static let examples = [
        Example("carrel ingest book.m4b", "Adds one file with its chapters."),
        Example("carrel ingest issue7.zip --product-id com.example.issue-7 --price paid", "Adds an edition for subscribers."),
        Example("carrel ingest \"The Long Way\"/ --isbn 9780306406157", "Adds a folder of chapters as one title."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.paths, "path", help: "Files, folders and ZIP archives; each becomes a title.", required: true),
            .option(\.title, "--title", value: "text", help: "The title.", group: "Metadata"),
            .option(\.subtitle, "--subtitle", value: "text", help: "The subtitle.", group: "Metadata"),
            .option(\.authors, "--author", value: "name", help: "An author.", group: "Metadata"),
            .option(\.narrators, "--narrator", value: "name", help: "A narrator.", group: "Metadata"),
            .option(\.publisher, "--publisher", value: "name", help: "The publisher.", group: "Metadata"),
            .option(\.language, "--language", value: "tag", help: "The language, such as en.", group: "Metadata"),
            .option(\.about, "--description", value: "text", help: "The description.", group: "Metadata"),
            .option(\.isbn, "--isbn", value: "isbn", help: "The ISBN, 10 or 13 digits.", group: "Metadata"),
            .option(\.cover, "--cover", value: "file", help: "A JPEG, PNG, GIF or WebP picture.", group: "Metadata"),
            .option(\.segmentSeconds, "--segment-seconds", help: "Target length of a segment, in seconds: 1 to 60."),
            .option(
                \.sampleSeconds,
                "--sample-seconds",
                help: "Maximum length of the sample, in seconds: up to 600; 0 = no sample."
            ),
            .flag(\.allowTruncated, "--allow-truncated", help: "Accept the usable part of a truncated file."),
            .flag(\.strict, "--strict", help: "Refuse an audiobook whose ISBN another title has, instead of warning."),
        ] + Parameter.group(\.edition) + Parameter.group(\.options)

    func validate() throws(UsageError) {
        if let isbn, ISBN(isbn) == nil {
            let count = isbn.unicodeScalars.count { "0"..."9" ~= $0 || $0 == "X" || $0 == "x" }
            let why = [10, 13].contains(count) ? "wrong check digit" : "an ISBN has 10 or 13 digits"
            throw UsageError(.badValue, "'\(isbn)' is not an ISBN: \(why)")
        }
        guard (1...60).contains(segmentSeconds) else { throw UsageError(.badValue, "--segment-seconds must be from 1 to 60") }
        guard (0...600).contains(sampleSeconds) else { throw UsageError(.badValue, "--sample-seconds must be from 0 to 600") }
        let perTitle = title != nil || isbn != nil || cover != nil || edition.productID != nil
        if paths.count > 1, perTitle {
            throw UsageError(.contradiction, "--title, --isbn, --cover and --product-id need a single path")
        }
        try edition.validate()
    }

    func run(_ console: Console) async throws {
        try requirePaths()
        let catalog = try await HomeCatalog(options, console)
        let work = try ingestWork()
        if let terms = edition.terms { return try await ingestEdition(terms, work, catalog, console) }
        var titles: [JSON] = []
        var failures = 0
        for path in paths {
            do {
                let outcome = try await ingest(path, work, catalog, console)
                titles.append(outcome.entry)
                tell(outcome, as: outcome.entry["id"], console)
            } catch let error as IngestError where paths.count > 1 {
                failures += 1
                console.error(error.description, hint: error.hint)
            }
        }
        if options.json { console.print(["titles": .array(titles)]) }
        if failures > 0 { throw IngestFailures(count: failures, of: paths.count) }
    }

    /// A home is not created for paths that are mistyped.
    private func requirePaths() throws {
        guard try !options.find(missing: .create).isMade else { return }
        for path in paths where unsafe access(path, F_OK) != 0 {
            throw IngestError(.unreadable, path, "cannot be read: \(systemReason())")
        }
    }

    /// The blobs are made in this process, which has the file, and only then is the catalog updated: a running server keeps
    /// running, and remains the only writer of its database.
    private func ingestWork() throws -> IngestPipeline {
        let home = try options.find()
        return IngestPipeline(home: home, blobs: try DirectoryBlobStore(path: home.blobsPath))
    }

    private func tell(_ outcome: IngestPipeline.Outcome<JSON>, as id: JSON?, _ console: Console) {
        for warning in outcome.warnings { console.warning(warning) }
        guard !options.json else { return }
        let state =
            switch outcome.change {
            case .created: ""
            case .replaced: " (replaced)"
            case .none: " (in the catalog already)"
            }
        console.print("\(id?.string ?? "")  \(outcome.entry["title"]?.string ?? "")\(state)")
    }

    private func ingest(
        _ path: String,
        _ work: IngestPipeline,
        _ catalog: HomeCatalog,
        _ console: Console
    ) async throws -> IngestPipeline.Outcome<JSON> {
        let bar = IngestProgressBar(path, console)
        defer { bar.finish() }
        if let kind = try? EditionIngest.kind(of: path), kind != .edition {
            throw IngestError(
                .notAudio,
                path,
                "is an EPUB or PDF, not audio",
                hint: "add it with --product-id ID"
            )
        }
        return try await work.take(path, ingestOptions, into: HomeCatalogWriter(catalog, ingestOptions)) { bar.show($0) }
    }

    private func ingestEdition(
        _ terms: Edition.Terms,
        _ work: IngestPipeline,
        _ catalog: HomeCatalog,
        _ console: Console
    ) async throws {
        let path = paths[0]
        var taken = EditionOptions(productID: terms.productID)
        taken.overrides = overrides
        taken.samples = edition.samples
        taken.allowTruncated = allowTruncated
        let bar = IngestProgressBar(path, console)
        defer { bar.finish() }
        let outcome = try await work.take(path, taken, into: HomeCatalogWriter(catalog, taken, terms)) { bar.show($0) }
        bar.finish()
        tell(outcome, as: .string(terms.productID), console)
        if options.json { console.print(["titles": [outcome.entry], "replaced": .bool(outcome.change == .replaced)]) }
    }

    private var overrides: MetadataOverrides {
        var made = MetadataOverrides()
        made.title = title
        made.subtitle = subtitle
        made.authors = authors
        made.narrators = narrators
        made.publisher = publisher
        made.language = language
        made.description = about
        made.isbn = isbn.flatMap { ISBN($0) }
        made.coverPath = cover
        return made
    }

    private var ingestOptions: IngestOptions {
        var made = IngestOptions()
        made.overrides = overrides
        made.segmentSeconds = segmentSeconds
        made.sampleSeconds = sampleSeconds
        made.allowTruncated = allowTruncated
        made.isStrict = strict
        return made
    }
}

/// Some of several sources were not added; each failure has been reported.
struct IngestFailures: ReportableError {
    let count: Int
    let of: Int

    var message: String { "\(count) of \(of) sources were not added" }
    var exitStatus: ExitStatus { .badInput }
}

extension IngestError: ReportableError {
    var exitStatus: ExitStatus {
        switch code {
        case .unreadable: .noInput
        case .full, .scratch: .cannotCreate
        case .transcoder: .unavailable
        default: .badInput
        }
    }
}
