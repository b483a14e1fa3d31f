// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCommandLine
import CarrelJSON
import CarrelHTTPClient
import CarrelLCP
import CarrelLicensedPublications
package import CarrelPublication
import CarrelThreads
import Glibc

/// A publication that a command opens, with the options that unlock it.
struct PublicationOptions: ParameterGroup, Sendable {
    var file = ""
    var password: String?
    var licenses = LicenseOptions()
    var reader = ReaderEngine()
    /// The obligations of a license that the command enforces.
    var obligations = LicensedContentProtection.shownRights
    private let opened = Locked<Opened>(Opened())

    /// The player and the service that are closed at the end.
    private struct Opened {
        var service: LCPService?
        var player: PublicationPlayer?
        /// The hint of a player that cannot be opened.
        var playerAdvice: String?
    }

    static var parameters: [Parameter<PublicationOptions>] {
        [
            .positional(\.file, "file", help: "A file, a folder, or an address (https:)."),
            .option(
                \.password,
                "--password",
                "--passphrase",
                value: "text",
                help: "The password. Other users of this machine can see it; default: ask on the terminal.",
                group: "Protection"
            ),
        ] + Parameter.group(\.licenses) + Parameter.group(\.reader)
    }

    var output: OutputOptions { reader.output }

    /// Opens the publication while a command uses it. Waits for work started by the opening, even if the command fails: a reading
    /// device must be registered.
    ///
    /// - Parameters:
    ///   - warnings: logs mistakes in the publication.
    ///   - console: prompts for the passphrase of the player's vault.
    ///   - body: gets the publication, open or restricted.
    /// - Throws: `Publication.OpeningError`, and the errors of `body`.
    func withPublication(
        _ warnings: any WarningLogger,
        _ console: Console,
        _ body: (Publication) async throws -> Void
    ) async throws {
        do {
            let publication = try await open(warnings, console)
            defer { publication.close() }
            try await body(publication)
        } catch {
            await finish()
            throw error
        }
        await finish()
    }

    /// Opens the publication; prompts for a password on a terminal.
    ///
    /// - Parameters:
    ///   - warnings: logs mistakes in the publication.
    ///   - console: prompts for the passphrase of the player's vault.
    /// - Returns: the publication, open or restricted.
    /// - Throws: `Publication.OpeningError`.
    func open(_ warnings: any WarningLogger, _ console: Console) async throws -> Publication {
        let isRemote = file.hasPrefix("https://") || file.hasPrefix("http://")
        let asset = isRemote ? PublicationAsset(url: file) : PublicationAsset(path: file)
        let service = try licenses.service()
        let player = PublicationPlayer(reader, console)
        opened.withLock { $0 = Opened(service: service, player: player) }
        let publicOnly = HTTPClient(configuration: HTTPClientConfiguration(addresses: .publicOnly))
        let licensed = LicensedContentProtection(
            obligations: obligations,
            client: licenses.isOffline ? nil : licenses.client ?? publicOnly
        ) { [opened] in
            do { return try await player.engine() } catch let error as any ReportableError {
                // the reason of a restricted publication
                opened.withLock { $0.playerAdvice = error.hint }
                throw Publication.OpeningError(.forbidden, error.message)
            }
        }
        let protections: [any ContentProtection] = [licensed, service.contentProtection()]
        return try await Streamer(contentProtections: protections, onAskCredentials: TerminalDialog.ask).open(
            asset: asset,
            allowUserInteraction: !output.json && isatty(STDERR_FILENO) == 1,
            credentials: password,
            warnings: warnings
        )
    }

    /// The way to open a restricted publication; nil if it is not known.
    ///
    /// - Parameter publication: the publication that these options opened.
    /// - Returns: a sentence without a period, or nil.
    func advice(on publication: Publication) -> String? {
        guard publication.isRestricted else { return nil }
        return publication.adviceOnPassphrase ?? opened.withLock { $0.playerAdvice }
    }

    /// Waits for work started by the opening, such as the registration of this device at a license server, and closes the player.
    func finish() async {
        let opened = opened.withLock { $0 }
        await opened.service?.finishBackgroundWork()
        await opened.player?.close()
    }
}

struct OpenCommand: Command {
    var options = PublicationOptions()

    static let name = "open"
    static let abstract = "Show what a publication is, its protection and the reader's rights."
    static let discussion = """
        Opens EPUB, PDF, Readium and W3C packages, audiobooks and comics, with or without a password, Readium LCP or a license of \
        this device's player (OMA DCF). Exits with \
        status 0 even if the publication is restricted (readable metadata, locked content), and with 77 if an archive is closed by a password that is missing or wrong.
        """
    static let examples = [
        Example("carrel open book.epub", "Prints title, protection, rights and reading order."),
        Example("carrel open comic.cbz --json", "Prints the same as JSON."),
    ]
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let warnings = WarningList()
        try await options.withPublication(warnings, console) { publication in
            await report(publication, warnings, console)
        }
    }

    private func report(_ publication: Publication, _ warnings: WarningList, _ console: Console) async {
        let rights = (await publication.rights.canCopy, await publication.rights.canPrint)
        let charactersLeft = try? await publication.rights.remaining(.copy)
        let pagesLeft = try? await publication.rights.remaining(.print)
        let answer: JSON = [
            "format": .string(publication.format.mediaType.description),
            "protection": publication.protectionName.map(JSON.string) ?? .null,
            "isRestricted": .bool(publication.isRestricted),
            "error": publication.protectionErrorMessage.map(JSON.string) ?? .null,
            "hint": options.advice(on: publication).map(JSON.string) ?? .null,
            "metadata": publication.manifest.metadata.json,
            "rights": [
                "canCopy": .bool(rights.0), "canPrint": .bool(rights.1),
                // null if unlimited
                "charactersLeft": charactersLeft.map { .integer($0) } ?? .null,
                "pagesLeft": pagesLeft.map { .integer($0) } ?? .null,
            ],
            "readingOrder": .array(publication.readingOrder.map { .string($0.href) }),
            "warnings": .array(warnings.warnings.map { .string($0.message) }),
        ]
        guard !output.json else {
            return console.print(answer)
        }
        for warning in warnings.warnings { console.warning(warning.message) }
        var table = TextTable(["", ""])
        table.add(["title", publication.metadata.title.description])
        let authors = publication.metadata.authors.map(\.name.description).joined(separator: ", ")
        if !authors.isEmpty { table.add(["by", authors]) }
        table.add(["format", publication.format.mediaType.description])
        table.add(["protected by", publication.protectionName ?? "nothing"])
        table.add(["state", publication.isRestricted ? "restricted: \(publication.protectionErrorMessage ?? "")" : "open"])
        if let advice = options.advice(on: publication) { table.add(["to open it", advice]) }
        table.add(["may be copied", Self.words(rights.0, charactersLeft, "character")])
        table.add(["may be printed", Self.words(rights.1, pagesLeft, "page")])
        let count = publication.readingOrder.count
        table.add(["reading order", count == 1 ? "1 resource" : "\(count) resources"])
        console.print(table)
    }
}

extension OpenCommand {
    /// A right in words.
    ///
    /// - Parameters:
    ///   - isGranted: whether there is the right at all.
    ///   - left: the remaining amount; nil without a limit.
    ///   - unit: the singular of the counted unit.
    /// - Returns: such as `yes, 10 characters left`.
    fileprivate static func words(_ isGranted: Bool, _ left: Int?, _ unit: String) -> String {
        guard isGranted else { return "no" }
        guard let left else { return "yes" }
        return left == 1 ? "yes, 1 \(unit) left" : "yes, \(left) \(unit)s left"
    }
}

struct ManifestCommand: Command {
    var options = PublicationOptions()

    static let name = "manifest"
    static let abstract = "Print a publication's Readium Web Publication Manifest, for any format."
    static let examples = [Example("carrel manifest book.epub", "Prints JSON.")]
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let warnings = WarningList()
        try await options.withPublication(warnings, console) { publication in
            for warning in warnings.warnings { console.warning(warning.message) }
            if let advice = options.advice(on: publication) {
                console.warning("restricted: \(publication.protectionErrorMessage ?? "")", hint: advice)
            }
            console.write(publication.manifest.json() + [UInt8(ascii: "\n")])
        }
    }
}

struct CatCommand: Command {
    var options = PublicationOptions()
    var href = ""
    var range: String?

    static let name = "cat"
    static let abstract = "Write one resource of a publication to standard output, unpacked and decrypted."
    static let discussion = """
        If the rights to copy or print are limited, a PDF document is not written: its file has all words and pages, and counts none. \
        Under a license of this device's player nothing is written if the license forbids export, limits copies or prints, or demands \
        a watermark (exit status 77). A watermark that the license marks as not critical does not prevent it.
        """
    static let examples = [
        Example("carrel cat book.epub EPUB/chapter1.xhtml", "Writes a chapter."),
        Example("carrel cat book.audiobook track1.mp3 --range 0-1023", "Writes the first 1,024 bytes of a track."),
    ]
    static let parameters: [Parameter<Self>] =
        Parameter.group(\.options) + [
            .positional(\.href, "href", help: "The resource's address, as 'carrel manifest' prints it."),
            .option(\.range, "--range", value: "first-last", help: "First and last byte, counted from 0."),
        ]

    var output: OutputOptions { options.output }

    func validate() throws(UsageError) {
        if range != nil, bytes == nil {
            throw UsageError(.badValue, "--range must be the first and the last byte, such as 0-1023")
        }
    }

    /// The requested range; nil if there is none, or it is invalid.
    private var bytes: Range<Int64>? {
        guard let parts = range?.split(separator: "-", omittingEmptySubsequences: false), parts.count == 2,
            let first = Int64(parts[0]), first >= 0
        else { return nil }
        if parts[1].isEmpty { return first..<Int64.max }
        guard let last = Int64(parts[1]), last >= first, last < Int64.max else { return nil }
        return first..<last + 1
    }

    func run(_ console: Console) async throws {
        var options = options
        // a file counts no copies, and carries no watermark
        options.obligations = []
        try await options.withPublication(WarningList(), console) { publication in
            do {
                let resource = publication.get(href)
                // the license of an entry is opened with the entry
                guard await publication.allowsExport(of: resource.link) || publication.isRestricted else {
                    // without a license the resource says why
                    _ = try await resource.length()
                    throw ForbiddenExport()
                }
                if try await Self.isLimited(resource, publication.rights) {
                    throw LimitedDocument()
                }
                try await resource.stream(bytes) { piece in console.write(piece) }
            } catch let error as ResourceError {
                throw publication.report(error, advice: options.advice(on: publication))
            }
        }
    }
}

/// The error for a license that forbids export.
private struct ForbiddenExport: ReportableError {
    let message = "the license does not allow to write its content to a file"
    let hint: String? = "'carrel read' shows it"
    let exitStatus = ExitStatus.noPermission
}

/// The error for a PDF document with limited rights.
private struct LimitedDocument: ReportableError {
    let message = "the rights to this document are limited, so that its file is not written"
    let hint: String? = "'carrel read' shows its pages"
    let exitStatus = ExitStatus.noPermission
}

extension CatCommand {
    /// Whether a resource is a PDF document with limited rights.
    private static func isLimited(_ resource: any Resource, _ rights: any UserRights) async throws(ResourceError) -> Bool {
        if rights.isUnlimited { return false }
        if resource.link.mediaType?.essence == "application/pdf" { return true }
        return PDFHeader.mayBeIn(try await resource.read(0..<Int64(PDFHeader.window)))
    }
}

extension Publication.OpeningErrorDomain: ReportableDomain {
    package static func exitStatus(_ code: Publication.OpeningError.Code) -> ExitStatus {
        switch code {
        case .notFound: .noInput
        case .credentialsRequired, .incorrectCredentials, .cancelled, .forbidden: .noPermission
        case .unavailable: .unavailable
        default: .badInput
        }
    }

    package static func hint(_ code: Publication.OpeningError.Code) -> String? {
        [.credentialsRequired, .incorrectCredentials].contains(code) ? "give the password with --password" : nil
    }
}

extension ResourceError: ReportableError {
    package var exitStatus: ExitStatus {
        switch code {
        case .notFound: .noInput
        case .forbidden: .noPermission
        case .unavailable, .cancelled: .unavailable
        default: .badInput
        }
    }
}
