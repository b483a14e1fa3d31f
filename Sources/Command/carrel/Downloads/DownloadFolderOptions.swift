// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelDownloads
import Glibc

/// The downloads of a reader's folder, for commands that do not open its vault.
struct DownloadFolderOptions: ParameterGroup, Sendable {
    var folder = ReaderFolder()

    static var parameters: [Parameter<DownloadFolderOptions>] { Parameter.group(\.folder) }

    /// Opens the downloads; nil if nothing was saved in the folder. Nothing is created.
    func open() throws -> Downloads? {
        let path = try folder.path()
        guard unsafe access("\(path)/downloads", F_OK) == 0 else { return nil }
        return try Downloads(folder: path) { throw DownloadError(.vault, "this command does not open the vault") }
    }

    /// Runs a closure with the downloads, and closes them.
    ///
    /// - Parameter body: the operation.
    /// - Returns: its result.
    /// - Throws: `download.unknown` if there are none; the errors of `body`.
    func use<Value>(_ body: (Downloads) async throws -> Value) async throws -> Value {
        guard let downloads = try open() else {
            throw DownloadError(.unknown, "there are no downloads in \(try folder.path())")
        }
        return try await DownloadFolderOptions.use(downloads, body)
    }

    static func use<Value>(_ downloads: Downloads, _ body: (Downloads) async throws -> Value) async throws -> Value {
        do {
            let value = try await body(downloads)
            await downloads.close()
            return value
        } catch {
            await downloads.close()
            throw error
        }
    }
}

/// Downloads that a command names: by their ids, by the beginnings of ids, by titles, or all.
struct DownloadNames: ParameterGroup, Sendable {
    var names: [String] = []
    var isAll = false

    static let parameters: [Parameter<DownloadNames>] = [
        .positional(\.names, "id", help: "The id of a download, the beginning of one, or its title."),
        .flag(\.isAll, "--all", help: "All downloads."),
    ]

    func check() throws(UsageError) {
        guard isAll || !names.isEmpty else {
            throw UsageError(.missingArgument, "name a download by its id, or use --all", hint: "see 'carrel download list'")
        }
        guard !isAll || names.isEmpty else { throw UsageError(.contradiction, "--all and ids exclude each other") }
    }

    /// The items that are named, in the order of their names.
    ///
    /// - Parameters:
    ///   - downloads: the queue.
    ///   - fits: which items `--all` means.
    /// - Returns: the items.
    /// - Throws: `download.unknown`.
    func items(in downloads: Downloads, where fits: (DownloadItem) -> Bool = { _ in true }) async throws -> [DownloadItem] {
        let items = try await downloads.items()
        if isAll { return items.filter(fits) }
        return try names.map { try Self.find($0, in: items) }
    }

    /// The characters that an abbreviated id has at least.
    private static let shortest = 4

    /// Finds the item of a name.
    ///
    /// - Parameters:
    ///   - name: an id, the beginning of an id, or a title.
    ///   - items: all items.
    /// - Returns: the item.
    /// - Throws: ``UnknownDownload``.
    static func find(_ name: String, in items: [DownloadItem]) throws -> DownloadItem {
        if let item = items.first(where: { $0.id == name }) { return item }
        var matches = items.filter { $0.title == name }
        if matches.isEmpty, name.utf8.count >= shortest { matches = items.filter { $0.id.hasPrefix(name) } }
        guard matches.count == 1, let item = matches.first else {
            throw UnknownDownload(name: name, matches: matches.map(\.id), titles: items.map(\.title))
        }
        return item
    }
}

/// A name of no download, or of several.
struct UnknownDownload: ReportableError {
    let name: String
    let matches: [String]
    let titles: [String]

    var message: String {
        matches.isEmpty ? "there is no download '\(name.prefix(128))'" : "'\(name.prefix(128))' names \(matches.count) downloads"
    }
    var hint: String? {
        guard matches.isEmpty else { return "use an id: \(matches.prefix(8).joined(separator: ", "))" }
        return Suggestion.hint(for: name, among: titles) ?? "see 'carrel download list'"
    }
    var exitStatus: ExitStatus { .noInput }
    var reportedCode: String? { matches.isEmpty ? "download.unknown" : "download.ambiguous" }
}
