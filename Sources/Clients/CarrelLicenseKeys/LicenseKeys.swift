// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
public import CarrelMedia
public import CarrelPlayer
public import CarrelRights

/// The licenses of a player as a source of content keys.
///
/// ```swift
/// let session = try proxy.makeURL(source, .dash, keys: LicenseKeys(engine))
/// ```
///
/// A key is found by the content ID of its license, by its own ID, or by an alias such as `urn:marlin:kid:…`. The address
/// `offline://…/N.key` in the playlist of an order's audiobook names the key of the order, of which key N is derived. One source is one use:
/// the first key of a license counts a play, and the count is on the disk before the key is returned. A proxy starts a use for each
/// of its sessions.
///
/// While the use lasts, the device requests the service's list of revocations every five minutes, and renews the license when its
/// terms ask for that. ``CarrelMedia/ContentKeyGrant/end`` follows the license: it moves with a renewal, and ends the keys within
/// two seconds once the device knows that the license has ended. Release the source, or call ``end()``, to end the use.
public actor LicenseKeys: CountedKeySource, LicenseTokenReceiver {
    /// The settings of a use.
    package struct Settings: Sendable {
        /// The use that is counted and evaluated.
        package var action = LicenseAction.play
        /// The content of the source, if its format does not name one.
        package var content: String?
        /// Whether the content leaves as plain bytes: a license that keeps the default output rule then refuses.
        package var needsOpenOutput = false
        /// Obligations that the caller enforces, in addition to the obligations that this target enforces and the app declared.
        package var enforced: Set<String> = []
        /// Whether the first key counts the use; otherwise `begin` of the license in use does.
        package var countsWithFirstKey = true
        /// Whether the use requests the service's list of revocations. A use without it contacts the service for renewals alone, and
        /// if the license must be attended.
        package var followsRevocations = true
        /// Called with a license whose first use was written, before the first key is returned.
        package var didBegin: (@Sendable (_ license: String) async -> Void)?

        package init() {}
    }

    private nonisolated let engine: PlayerEngine
    private nonisolated let settings: Settings
    /// The licenses in use.
    private var uses: [LicenseUse] = []
    /// Why the last token gave no license; nil if it gave one.
    private var failure: PlayerError?
    private var isEnded = false

    /// Licenses in one use, at most.
    private static let limit = 1024

    /// Creates a source for one use.
    ///
    /// - Parameters:
    ///   - engine: the player.
    ///   - action: the use that is counted and evaluated: `play` or `read`.
    ///   - content: the content ID of the license, for formats that do not name their content; nil for the names in the media.
    public init(_ engine: PlayerEngine, action: LicenseAction = .play, content: String? = nil) {
        var settings = Settings()
        settings.action = action
        settings.content = content
        self.init(engine, settings)
    }

    package init(_ engine: PlayerEngine, _ settings: Settings) {
        self.engine = engine
        self.settings = settings
    }

    /// Starts a separate use of the same player.
    public nonisolated func newUse() -> any CountedKeySource { LicenseKeys(engine, settings) }

    /// Returns a key, after the use was counted.
    ///
    /// - Parameter name: the key as named by the file or the playlist.
    /// - Returns: the key; `unknown` if there is no license for it, `refused` with the reason if the license does not allow the use.
    public func key(_ name: ContentKeyName) async -> ContentKeyAnswer { await key(anyOf: [name]).answer }

    /// Returns a key that has several names, after the use was counted.
    ///
    /// - Parameter names: the names of the key, the best first.
    /// - Returns: the key; `unknown` if there is no license for it, `refused` with the reason if the license does not allow the use, or
    ///   if the last token gave no license.
    public func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        for name in names {
            do throws(PlayerError) {
                if let grant = try await grant(name) { return (.granted(grant), name) }
            } catch {
                return (.refused(error.message), name)
            }
        }
        guard let failure else { return (.unknown, nil) }
        return (.refused(failure.message), names.first)
    }

    private func grant(_ name: ContentKeyName) async throws(PlayerError) -> ContentKeyGrant? {
        var offline: OfflineKeyAddress?
        if case .address(let text) = name { offline = OfflineKeyAddress(text) }
        guard let (use, id) = try await find(offline.map { .id($0.keyID.bytes) } ?? name) else { return nil }
        guard let offline else { return try await use.grant(id, isCounted: settings.countsWithFirstKey) }
        return try await use.grant(offline, isCounted: settings.countsWithFirstKey)
    }

    /// Redeems a token, or stores a signed license.
    ///
    /// - Parameter licenseToken: the token; if it gives no license, unknown keys are refused with the reason until another token
    ///   gives one. Text in no form of a token or a license, such as a license of another system, is ignored.
    public func receive(licenseToken: String) async {
        guard PlayerEngine.seemsLicense(licenseToken) else { return }
        do throws(PlayerError) {
            try await add(licenseToken)
            failure = nil
        } catch {
            failure = error
        }
    }

    /// Stores a signed license inside a file, or redeems a token inside it at the device's own service. Tokens that lead to other
    /// servers are refused.
    ///
    /// - Parameter text: the license or the token; text in no form of them is ignored.
    public func receive(licenseInFile text: String) async {
        guard PlayerEngine.seemsLicense(text) else { return }
        do throws(PlayerError) {
            try await engine.takeLicense(inFile: text)
            failure = nil
        } catch {
            failure = error
        }
    }

    /// Why the last token gave no license; nil if it gave one, or there was none.
    public var tokenFailure: String? { failure?.message }

    /// The IDs of the licenses in use.
    public var licenses: [String] { uses.map(\.license) }

    /// Stores a license: signed, or by redeeming a token.
    ///
    /// - Parameter text: a signed license, an action token (XML), a license message (JWT), or a compound URL.
    /// - Throws: the errors of `PlayerEngine.addLicense` and `PlayerEngine.process`.
    public func add(_ text: String) async throws(PlayerError) { try await engine.takeLicense(text) }

    /// Ends the use. A stream releases its slot; a stored license stays.
    public func end() async {
        isEnded = true
        for use in uses { await use.stop() }
        uses = []
    }

    // MARK: - For the targets that connect licenses to media

    /// The license that has a key, opened without counting.
    ///
    /// - Parameter name: the key as named by the file.
    /// - Returns: the license in use; nil if there is none.
    /// - Throws: `player.denied` with the reason if the license does not allow the use; `player.store`, `player.vault`.
    package func license(for name: ContentKeyName) async throws(PlayerError) -> LicenseUse? { try await find(name)?.use }

    /// Stores a license that came with a file: signed, or by redeeming a token at the device's own service.
    ///
    /// - Parameter text: a signed license, an action token (XML), a license message (JWT), or a compound URL.
    /// - Throws: the errors of ``add(_:)``; `player.token` for a token that leads to another server.
    package func add(inFile text: String) async throws(PlayerError) { try await engine.takeLicense(inFile: text) }

    /// The license of a content, opened without counting.
    ///
    /// - Parameter content: the content ID, or an alias of a key.
    /// - Returns: the license in use; nil if there is none.
    /// - Throws: `player.denied` with the reason if the license does not allow the use; `player.store`, `player.vault`.
    package func license(of content: String) async throws(PlayerError) -> LicenseUse? {
        let session: LicenseSession
        do throws(PlayerError) {
            session = try await opened(content)
        } catch {
            guard error.reason != .noLicense, error.code != .notPersonalized else { return nil }
            throw error
        }
        // other keys of the license may have been requested meanwhile
        if let known = uses.first(where: { $0.license == session.license }) { return known }
        guard !isEnded else { throw PlayerError(.stopped, "the use of the licenses has ended") }
        guard uses.count < Self.limit else {
            throw PlayerError(.denied, "the media use more than \(Self.limit) licenses")
        }
        let use = LicenseUse(
            engine,
            session,
            followsRevocations: settings.followsRevocations,
            didBegin: settings.didBegin
        )
        uses.append(use)
        await use.start()
        return use
    }

    // MARK: - Licenses

    private func find(_ name: ContentKeyName) async throws(PlayerError) -> (use: LicenseUse, id: String)? {
        guard !isEnded else { throw PlayerError(.stopped, "the use of the licenses has ended") }
        let names = KeyNames(name, content: settings.content)
        for use in uses where !use.isOver { if let id = names.key(of: use) { return (use, id) } }
        // another license may allow what one that has ended does not
        var refusal: PlayerError?
        for content in names.contents {
            do throws(PlayerError) {
                guard let use = try await license(of: content), let id = names.key(of: use) else { continue }
                await stopEnded(names, except: use)
                return (use, id)
            } catch {
                refusal = refusal ?? error
            }
        }
        // the license in use gives the reason
        for use in uses { if let id = names.key(of: use) { return (use, id) } }
        if let refusal { throw refusal }
        return nil
    }

    /// Stops the uses that have ended and that another license replaces.
    private func stopEnded(_ names: KeyNames, except current: LicenseUse) async {
        let ended = uses.filter { $0 !== current && $0.isOver && names.key(of: $0) != nil }
        uses.removeAll { use in ended.contains { $0 === use } }
        for use in ended { await use.stop() }
    }

    /// A session under the license with the widest output: a license that keeps the default output rule is used only if there is
    /// no other, and the output is protected.
    private func opened(_ content: String) async throws(PlayerError) -> LicenseSession {
        let enforced = settings.enforced.union(Self.enforced)
        do throws(PlayerError) {
            return try await engine.open(
                content,
                LicensedUse(action: settings.action, needsOpenOutput: true, enforced: enforced)
            )
        } catch {
            guard !settings.needsOpenOutput, error.reason == .outputNotAllowed else { throw error }
            return try await engine.open(content, LicensedUse(action: settings.action, enforced: enforced))
        }
    }

    /// The obligations that grants of this source enforce: `CarrelMedia` decrypts no larger pictures, and the use is attended.
    package static let enforced: Set<String> = [Obligation.Kind.imageConstraint.rawValue, Obligation.Kind.attended.rawValue]
}
