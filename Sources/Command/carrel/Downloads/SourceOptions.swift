// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelContentKeys
import CarrelDownloads
import CarrelHTTP
import CarrelMediaSource
import CarrelProxy
import Glibc

/// Options that say where a source is, and what its servers require: for saving and for playing.
struct SourceOptions: ParameterGroup, Sendable {
    var list: String?
    var token: String?
    var servers = StreamOptions()

    static let parameters: [Parameter<SourceOptions>] =
        [
            .option(
                \.list,
                "--streams",
                value: "file",
                help: "A list of streams (Streams.json): a source may be the title of an entry.",
                group: "Source",
                completion: .file
            ),
            .option(
                \.token,
                "--token",
                value: "file",
                help: "A file with the token or the license message of the source; - for standard input.",
                group: "Source",
                completion: .file
            ),
        ] + Parameter.group(\.servers)

    /// Bytes of a token, at most.
    private static let tokenLimit = 64 << 10

    /// Reads the list and the token, once.
    ///
    /// - Returns: what resolves the sources of the command line.
    /// - Throws: ``SmallFileProblem``, `StreamListError`; `UsageError` for a token that is not text.
    func read() throws -> SourceResolver {
        let entries = try list.map { path throws in
            let bytes: [UInt8]
            do throws(SmallFileProblem) { bytes = try SmallFile.read(path, limit: StreamList.byteLimit) } catch {
                guard case .large = error else { throw error }
                throw LargeList(path: path)
            }
            return try StreamList(bytes)
        }
        var text: String?
        if let token {
            let bytes = try SmallFile.read(token, limit: Self.tokenLimit)
            text = String(validating: bytes, as: UTF8.self).map { String($0.trimmed) }
            guard text?.isEmpty == false,
                text?.utf8.allSatisfy({ 0x20..<0x7f ~= $0 || $0 == 0x0a || $0 == 0x0d || $0 == 0x09 }) == true
            else { throw UsageError(.badValue, "--token: the file has no token: it must be text") }
        }
        return SourceResolver(list: entries, listName: list ?? "", token: text, servers)
    }
}

/// A list of streams that is too large.
private struct LargeList: ReportableError {
    let path: String

    var message: String { "\(path): the list is larger than \(StreamList.byteLimit) bytes" }
    var exitStatus: ExitStatus { .badInput }
    var reportedCode: String? { "streams.too-large" }
}

/// Finds the source that a word of the command line names.
struct SourceResolver: Sendable {
    private let list: StreamList?
    private let listName: String
    private let token: String?
    private let servers: StreamOptions

    init(list: StreamList?, listName: String, token: String?, _ servers: StreamOptions) {
        self.list = list
        self.listName = listName
        self.token = token
        self.servers = servers
    }

    /// The source: an entry of the list, a URL, or a file.
    ///
    /// - Parameters:
    ///   - word: a title, a URL, or a path.
    ///   - title: the title of a source that is not in a list; empty for the last part of its address.
    /// - Returns: the source with its token and permissions.
    /// - Throws: `streams.insecure` for plain http that is not allowed; ``UnknownStream`` for a word that names nothing.
    func source(_ word: String, title: String = "") throws -> DownloadSource {
        var source: DownloadSource
        if let entry = list?[word] {
            try entry.check(allowsPlainHTTP: servers.allowsHTTP)
            source = DownloadSource(entry.videoURL, title: title.isEmpty ? entry.title : title)
            source.licenseServer = entry.licenseServer ?? ""
            source.certificateURL = entry.certificateURL ?? ""
            source.setLicenseToken(token ?? entry.licenseToken)
            source.allowsPlainHTTP = entry.allowsPlainHTTP || servers.allowsHTTP
        } else {
            let isFile = unsafe access(word, F_OK) == 0
            if let list, !word.contains("://"), !isFile {
                throw UnknownStream(title: word, list: listName, titles: list.entries.map(\.title))
            }
            source = DownloadSource(isFile && !word.contains("://") ? Self.absolute(word) : word, title: title)
            source.setLicenseToken(token)
            source.allowsPlainHTTP = servers.allowsHTTP
        }
        source.allowsPrivateNetworks = servers.allowsPrivateNetworks
        for field in servers.fields { source.originFields.append(field.name, field.value) }
        return source
    }

    /// The absolute path of a file: a download outlives the folder in which its command ran.
    private static func absolute(_ path: String) -> String {
        guard let real = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }
}

/// A word that names neither an entry of the list, nor a server, nor a file.
private struct UnknownStream: ReportableError {
    let title: String
    let list: String
    let titles: [String]

    var message: String { "there is no stream '\(title.prefix(128))' in \(list), and no such file" }
    var hint: String? {
        Suggestion.hint(for: title, among: titles) ?? "titles: \(titles.prefix(8).map { "'\($0)'" }.joined(separator: ", "))"
    }
    var exitStatus: ExitStatus { .noInput }
    var reportedCode: String? { "streams.unknown" }
}

extension String {
    /// The text without white space at its ends.
    fileprivate var trimmed: Substring {
        var text = self[...].drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
