// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelLicenseKeys
public import CarrelMedia
public import CarrelPlayer
public import CarrelReader
import CarrelRights

/// The keys of a saved item, for playback without a network.
///
/// A key comes from the rows of the item or from the licenses that the item has; no key is requested from a server. A license counts
/// one play for each use, and is renewed when its terms ask for that and there is a network. The end of a key without a license
/// follows the trusted time: a clock that is set back extends nothing.
///
/// ```swift
/// let session = try proxy.makeURL(package, keys: SavedKeys(engine, item: "a7c2…"))
/// ```
public actor SavedKeys: CountedKeySource {
    private nonisolated let engine: PlayerEngine
    private nonisolated let item: String
    private nonisolated let log: KeyDeliveryLog
    private nonisolated let didUpdate: (@Sendable (_ license: String) async -> Void)?
    private nonisolated let licenses: LicenseKeys
    private var loading: Task<[String: SavedKeyRow], any Error>?
    private var ends: [String: ContentKeyEnd] = [:]
    private var watch: Task<Void, Never>?
    private var isEnded = false

    /// How often the trusted time is read.
    private static let interval = Duration.milliseconds(500)
    private static let endReason = "the use of the saved keys has ended"

    /// Creates a source for one use of an item.
    ///
    /// - Parameters:
    ///   - engine: the player of the folder, also of one without a server.
    ///   - item: the id of the item.
    ///   - trace: gets the events of key delivery.
    ///   - didUpdate: called with a license whose first play was written, before the first key is returned.
    public init(
        _ engine: PlayerEngine,
        item: String,
        trace: (@Sendable (Trace) -> Void)? = nil,
        didUpdate: (@Sendable (_ license: String) async -> Void)? = nil
    ) {
        self.init(engine, item, KeyDeliveryLog(trace), didUpdate)
    }

    private init(
        _ engine: PlayerEngine,
        _ item: String,
        _ log: KeyDeliveryLog,
        _ didUpdate: (@Sendable (_ license: String) async -> Void)?
    ) {
        self.engine = engine
        self.item = item
        self.log = log
        self.didUpdate = didUpdate
        var settings = LicenseKeys.Settings()
        settings.followsRevocations = false
        settings.didBegin = { license in
            log.write("persistable key updated: its first play is on the disk", license: license)
            await didUpdate?(license)
        }
        licenses = LicenseKeys(engine, settings)
    }

    deinit {
        watch?.cancel()
        for end in ends.values { end.end(Self.endReason) }
    }

    /// Starts a separate use of the same item.
    public nonisolated func newUse() -> any CountedKeySource { SavedKeys(engine, item, log, didUpdate) }

    /// Returns a saved key.
    ///
    /// - Parameter name: the key as named by the file or the playlist.
    /// - Returns: the key; `unknown` if the item does not have it, `refused` with the reason.
    public func key(_ name: ContentKeyName) async -> ContentKeyAnswer { await key(anyOf: [name]).answer }

    /// Returns a saved key that has several names.
    ///
    /// - Parameter names: the names of the key, the best first.
    /// - Returns: the key, and the name that it was found by.
    public func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        guard !isEnded else { return (.refused(Self.endReason), names.first) }
        do throws(PlayerError) {
            let rows = try await rows()
            for name in names {
                guard let text = name.savedText, let row = rows[text] else { continue }
                guard let key = row.key else { return try await licensedKey(names, name, row) }
                return (try await grant(row, key), name)
            }
        } catch {
            return (.refused(error.message), names.first)
        }
        // the media may name a key of a license otherwise than its playlist
        return await licenses.key(anyOf: names)
    }

    /// The key of a license; by the license's content if the media name the key by their track alone.
    private func licensedKey(
        _ names: [ContentKeyName],
        _ name: ContentKeyName,
        _ row: SavedKeyRow
    ) async throws(PlayerError) -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        let found = await licenses.key(anyOf: names)
        guard case .unknown = found.answer, let license = row.license,
            let content = try await engine.licenses().contentIDs(of: license).first
        else { return found }
        return (await licenses.key(.content(content)), name)
    }

    private func rows() async throws(PlayerError) -> [String: SavedKeyRow] {
        let task: Task<[String: SavedKeyRow], any Error>
        if let loading {
            task = loading
        } else {
            let (engine, item) = (engine, item)
            task = Task {
                let rows = try await engine.savedItems().savedKeys(ofItem: item)
                return Dictionary(rows.map { ($0.name, $0) }) { first, _ in first }
            }
            loading = task
        }
        do { return try await task.value } catch {
            loading = nil
            throw error as? PlayerError ?? PlayerError(.store, "the saved keys cannot be read")
        }
    }

    /// A key without a license, while its end has not come.
    private func grant(_ row: SavedKeyRow, _ key: Secret) async throws(PlayerError) -> ContentKeyAnswer {
        // an order may be revoked, or get an end, while its key is in use
        guard row.until != nil || row.kind == .order else { return .granted(ContentKeyGrant(key: key)) }
        let time = try await engine.judgingTime()
        if let obstacle = SavedKeyState.obstacle(of: row, at: time) { return .refused(obstacle.words) }
        let end = ends[row.name] ?? ContentKeyEnd()
        await set(end, row, time)
        guard !isEnded else { return .refused(Self.endReason) }
        ends[row.name] = end
        watchEnds()
        return .granted(ContentKeyGrant(key: key, end: end))
    }

    /// Begins to follow the ends of the keys.
    private func watchEnds() {
        guard watch == nil, !isEnded else { return }
        watch = Task { [weak self] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: Self.interval) } catch { return }
                guard let self else { return }
                await self.follow()
            }
        }
    }

    /// Judges the ends of the keys again, by the rows on the disk: another process may have renewed them.
    private func follow() async {
        guard !isEnded else { return }
        let time: TrustedClock.Reading
        let rows: [SavedKeyRow]
        do throws(PlayerError) {
            time = try await engine.judgingTime()
            rows = try await engine.savedItems().savedKeys(ofItem: item)
        } catch {
            // a decision that cannot be made now leaves the last one
            guard [.storeDamaged, .outdated, .fingerprint].contains(error.code) else { return }
            for end in ends.values { end.end(error.message) }
            return
        }
        let current = Dictionary(rows.map { ($0.name, $0) }) { first, _ in first }
        loading = Task { current }
        for (name, end) in ends {
            guard let row = current[name] else {
                end.end("the order was revoked")
                continue
            }
            await set(end, row, time)
        }
    }

    private func set(_ end: ContentKeyEnd, _ row: SavedKeyRow, _ time: TrustedClock.Reading) async {
        if let obstacle = SavedKeyState.obstacle(of: row, at: time) {
            end.end(obstacle.words)
        } else if let until = row.until {
            end.move(to: await engine.deviceTime(of: until))
        } else {
            end.move(to: nil)
        }
        if isEnded { end.end(Self.endReason) }
    }

    /// Ends the use: its keys may not be used any more.
    public func end() async {
        isEnded = true
        watch?.cancel()
        watch = nil
        for end in ends.values { end.end(Self.endReason) }
        await licenses.end()
    }
}
