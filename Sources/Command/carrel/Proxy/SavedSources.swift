// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelContentKeys
import CarrelCrypto
import CarrelDownloads
import CarrelHTTPClient
import CarrelLicenseKeys
import CarrelMedia
import CarrelMediaSource
import CarrelPlayer
import CarrelProxy
import Glibc

/// Looks for a source among the downloads of the reader's folder.
final class SavedSources: Sendable {
    private let console: Console
    private let opened: Result<Downloads, any Error>?
    let engine: QueueEngine

    /// Opens the downloads, if there are any. The vault stays closed.
    init(_ queue: DownloadQueueOptions, _ console: Console, _ trace: TracePrinter?) {
        self.console = console
        let path = (try? queue.folder.path()) ?? ""
        engine = QueueEngine(path: path, queue.vault, console, trace)
        guard !path.isEmpty, unsafe access("\(path)/downloads", F_OK) == 0 else {
            opened = nil
            return
        }
        let engine = engine
        opened = Result { try Downloads(folder: path) { try await engine.open() } }
    }

    /// The downloads.
    ///
    /// - Throws: `download.unknown` if there are none.
    func downloads() throws -> Downloads {
        guard let opened else { throw DownloadError(.unknown, "there are no downloads") }
        return try opened.get()
    }

    func close() async {
        if case .success(let downloads)? = opened { await downloads.close() }
        await engine.close()
    }

    /// The download that a word names: its id, the beginning of one, its title, or its source.
    ///
    /// - Parameters:
    ///   - word: the word of the command line.
    ///   - resolver: finds the source of a title in a list.
    /// - Returns: the download; nil if the word names none, or a source whose download is not complete.
    /// - Throws: the errors of the journal.
    func item(named word: String, _ resolver: SourceResolver) async throws -> DownloadItem? {
        guard opened != nil else { return nil }
        let items = try await downloads().items().filter { $0.state != .removing }
        if let item = items.first(where: { $0.id == word }) { return item }
        let isAddress = unsafe word.contains("://") || access(word, F_OK) == 0
        if !isAddress {
            // a title in the list is its source; another word is a title or the beginning of an id
            if let item = try? DownloadNames.find(word, in: items) { return item }
        }
        guard !items.isEmpty, let source = try? resolver.source(word) else { return nil }
        do {
            guard let item = try await downloads().item(ofSource: source.address) else { return nil }
            return item.state == .completed || item.state == .expired ? item : nil
        } catch let error as DownloadError where error.code == .vault {
            console.warning("downloads are not searched: \(error.message)", hint: error.hint)
            return nil
        }
    }
}

/// Why a saved source is not played: the failure of its proxy, with the state of its keys.
struct SavedFailure: ReportableError {
    let message: String
    private let code: String

    /// Returns nil for errors of another kind.
    ///
    /// - Parameters:
    ///   - error: thrown while it was served.
    ///   - item: the download.
    ///   - engine: judges its keys.
    init?(_ error: any Error, _ item: DownloadItem, _ engine: PlayerEngine) async {
        guard let failure = error as? SourceFailure else { return nil }
        var code = failure.code
        var message = "\(item.title): \(failure.message)"
        if failure.isOfKey, let state = try? await engine.savedKeyState(of: item.id), let obstacle = state.obstacle {
            switch obstacle {
            case .clockRollback:
                code = "keys.clock"
                message = "\(item.title): the clock of this machine was set back, so the term of the license cannot be checked"
            case .expired, .countExhausted:
                code = "keys.expired"
                let end = state.until.map { " at \($0)" } ?? ""
                message =
                    obstacle == .expired
                    ? "\(item.title): its license ended\(end)" : "\(item.title): its license was used as often as it allows"
            default: code = "keys.refused"
            }
        }
        self.code = code
        self.message = message
    }

    var hint: String? { ExitStatus.hint(code: code) }
    var exitStatus: ExitStatus { ExitStatus(code: code) ?? .failure }
    var reportedCode: String? { code }

    /// Whether an error that a player met in the middle ends the playback for good.
    static func isFinal(_ error: ProxyError) -> Bool {
        [.expiredKey, .refusedKey, .missingKey, .savedMissing, .savedDamaged, .savedSealed].contains(error.code)
    }
}

/// The keys of a source that is played from its server: the license server of a list entry, with its token.
struct OnlineKeys {
    let sources: [any ContentKeySource]
    private let session: ContentKeySession?

    /// - Parameters:
    ///   - source: the source with its license server and its token.
    ///   - folder: the reader's folder, which is created.
    ///   - engine: opens the vault.
    ///   - trace: prints the steps.
    /// - Throws: the errors of the vault, for an entry with a license server.
    init(_ source: DownloadSource, _ folder: ReaderFolder, _ engine: QueueEngine, _ trace: TracePrinter?) async throws {
        guard !source.licenseServer.isEmpty || source.licenseToken != nil else {
            (sources, session) = ([], nil)
            return
        }
        _ = try folder.make()
        var options = ContentKeySession.Options()
        options.licenseServer = source.licenseServer.isEmpty ? nil : source.licenseServer
        options.certificateURL = source.certificateURL.isEmpty ? nil : source.certificateURL
        options.licenseToken = source.licenseToken?.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        }
        options.source = source.address
        // a playlist does not lead to servers in the user's own network, unless the user named them
        let named = [source.address, source.licenseServer, source.certificateURL, source.clearKeyServer].filter { !$0.isEmpty }
        let rule: AddressRule = source.allowsPrivateNetworks ? .any : .publicExcept(originsOf: named)
        let client = HTTPMediaClient(HTTPClient(configuration: HTTPClientConfiguration(addresses: rule)))
        let session = ContentKeySession(try await engine.open(), options, client: client, trace: trace?.listener)
        (sources, self.session) = ([session], session)
    }

    func close() async {
        await session?.end()
    }
}
