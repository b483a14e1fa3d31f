// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
public import CarrelBytes
import CarrelCrypto
public import CarrelHTTPClient
import CarrelReader
package import CarrelRights
import CarrelThreads
public import CarrelVault
import Glibc

/// An installation of an app on this device: personalized once by a server, with keys in a vault and a certificate that the
/// server issued.
///
/// A player is not certified by another vendor's scheme: its certificates are issued by a Carrel server.
public actor PlayerEngine {
    /// The app as the server's lists show it.
    public struct App: Sendable {
        /// The app's name, at most 100 characters.
        public var name: String
        /// Its version, at most 100 characters.
        public var build: String
        /// The owner's name for the device; empty for none.
        public var device: String

        /// Creates the description of an app.
        ///
        /// - Parameters:
        ///   - name: the app's name.
        ///   - build: its version.
        ///   - device: the owner's name for the device; empty for none.
        public init(name: String, build: String, device: String = "") {
            self.name = name
            self.build = build
            self.device = device
        }
    }

    /// The data of a personalised player.
    public struct Identity: Sendable, Equatable {
        /// The player's id, a UUID in lower case.
        public let player: String
        /// The strength of the vault with its keys.
        public let level: VaultLevel
        /// The kind of vault that has them.
        public let vault: VaultKind
        /// The base URL of the server that personalized it; empty if it was personalized from a file that names none.
        public let server: String
        /// When its certificate should be renewed, and when it ends.
        public let renewAt: Instant
        /// When the certificate ends.
        public let expiresAt: Instant
    }

    /// Exceptions for tests of an app. All are off by default; each weakens the connection to rights locations, so that anyone
    /// can impersonate one.
    public struct Properties: Sendable {
        /// Whether a rights location may present any certificate, including a self-signed one.
        public var acceptsSelfSignedForTesting = false
        /// Whether a rights location may show a certificate for another name.
        public var acceptsHostMismatchForTesting = false

        /// All of them off.
        public init() {}
    }

    let vault: Vault
    let app: App
    private let folder: String
    let client: HTTPClient
    let timeouts: ClientTimeouts
    /// The device's wall clock.
    package nonisolated let clock: any WallClock
    private let hostClock: @Sendable (any WallClock) -> HostClock
    let file: PrivateFile
    /// The state of the file when it was last read here.
    var knownMark: PrivateFile.Mark?
    /// When the list of revocations was last requested for a license in use.
    var lastListRequest: ContinuousClock.Instant?
    let listener: (@Sendable (PlayerTransaction) -> Void)?
    var state: PlayerState?
    /// Exceptions for tests.
    private(set) var properties = Properties()
    /// The parsed and verified trust of `state`; read again when that changes.
    var knownTrust: ServiceTrust?
    var openStore: LicenseStore?
    /// Whether the store was checked for saved items.
    var hasSavedItems = false
    /// Licenses of streams, which are in no store, by their ids.
    var streams: [String: HeldStream] = [:]
    /// Streams so far.
    var streamCount = 0
    /// Changes of `state` so far.
    private(set) var changes = 0
    /// The license obligations that this app enforces.
    private(set) var capabilities: HostCapabilities

    /// The obligations that the engine enforces itself: it counts plays, and refuses export and print if a license forbids them.
    private static var ownCapabilities: HostCapabilities {
        var own = HostCapabilities()
        own.obligations = [
            Obligation.Kind.metering.rawValue, Obligation.Kind.noExport.rawValue, Obligation.Kind.noPrint.rawValue,
            Evaluation.openOutput,
        ]
        return own
    }

    /// Sets the exceptions for tests.
    public func set(_ properties: Properties) {
        self.properties = properties
    }

    /// Declares the obligations the app enforces, in addition to the engine's own.
    ///
    /// - Parameters:
    ///   - obligations: their types, such as `image-constraint`.
    ///   - protectsOutputs: whether the outputs comply with the default output rule.
    public func meet(_ obligations: Set<String>, protectsOutputs: Bool = false) {
        capabilities.obligations.formUnion(obligations)
        capabilities.protectsOutputs = protectsOutputs
    }

    static let signingKey = "player.sign"
    static let agreementKey = "player.agree"
    private static let files = BlockingThreadPool(name: "player-store", count: 1)

    /// Opens the player in a folder.
    ///
    /// - Parameters:
    ///   - folder: the existing folder of this installation alone, readable by its owner only.
    ///   - vault: the vault with the keys; for a personalized player, the vault it was personalized with.
    ///   - app: the app's name and version, for the server's lists.
    ///   - client: the HTTP client for calls to the server.
    ///   - listener: gets every transaction.
    /// - Throws: `player.store` if the folder's file cannot be read, `player.vault` if the player was personalized with another
    ///   kind of vault.
    public init(
        folder: String,
        vault: Vault,
        app: App,
        client: HTTPClient = HTTPClient(),
        listener: (@Sendable (PlayerTransaction) -> Void)? = nil
    ) throws(PlayerError) {
        try self.init(folder: folder, vault: vault, app: app, client: client, clock: SystemClock(), listener: listener)
    }

    /// Creates a player with other clocks.
    ///
    /// - Parameters:
    ///   - folder: the folder of this installation alone.
    ///   - vault: the vault with the keys.
    ///   - app: the app's name and version, for the server's lists.
    ///   - client: the HTTP client for calls to the server.
    ///   - timeouts: the time limits of each call; nil for the usual ones.
    ///   - clock: the device's wall clock.
    ///   - hostClock: reads all clocks of the device.
    ///   - listener: gets every transaction.
    /// - Throws: the errors of the public initializer.
    package init(
        folder: String,
        vault: Vault,
        app: App,
        client: HTTPClient = HTTPClient(),
        timeouts: ClientTimeouts? = nil,
        clock: any WallClock,
        hostClock: @escaping @Sendable (any WallClock) -> HostClock = HostClock.current,
        listener: (@Sendable (PlayerTransaction) -> Void)? = nil
    ) throws(PlayerError) {
        self.folder = folder
        self.hostClock = hostClock
        capabilities = Self.ownCapabilities
        self.vault = vault
        self.app = app
        self.client = client
        self.timeouts = timeouts ?? PlayerServer.usualTimeouts
        self.clock = clock
        self.listener = listener
        file = Self.file(of: folder)
        state = try Self.load(file)
        if let state, state.vault != vault.kind.rawValue {
            throw PlayerError(.vault, "the player's keys are in the vault '\(state.vault)', not in '\(vault.kind.rawValue)'")
        }
    }

    static func load(_ file: PrivateFile) throws(PlayerError) -> PlayerState? {
        let bytes: [UInt8]?
        do throws(ReaderError) {
            bytes = try file.load()
        } catch {
            throw PlayerError(.store, error.message)
        }
        guard let bytes else { return nil }
        return try PlayerState(reading: bytes)
    }

    /// Whether this copy has a certificate.
    public var isPersonalized: Bool { state?.answer != nil }

    /// The personalised player; nil before.
    public var identity: Identity? { state.flatMap { Self.identity($0) } }

    private static func identity(_ state: PlayerState) -> Identity? {
        guard let answer = state.answer, let certificate = try? Certificate(der: answer.certificate),
            let read = try? PlayerCertificate(certificate), let kind = VaultKind(rawValue: state.vault)
        else { return nil }
        return Identity(
            player: answer.player,
            level: read.level,
            vault: kind,
            server: state.server,
            renewAt: answer.renewAt,
            expiresAt: read.validity.upperBound.wholeSecond
        )
    }

    private static func file(of folder: String) -> PrivateFile {
        PrivateFile(path: "\(folder)/player.json", limit: 16 << 20, name: "file with the player's certificate")
    }

    /// Returns the identity of the personalized player in a folder, without its vault; nil if there is none.
    ///
    /// - Parameter folder: the folder of the player.
    /// - Returns: the player's identity; nil if the folder has no player.
    /// - Throws: `player.store` if the folder's file cannot be read.
    public static func identity(of folder: String) throws(PlayerError) -> Identity? {
        try load(file(of: folder)).flatMap { identity($0) }
    }

    /// Checks the address of a server, before anything is made for it.
    ///
    /// - Parameter server: the address of the server.
    /// - Throws: `player.server` unless it is https, or http on this machine.
    public static func checkAddress(_ server: String) throws(PlayerError) {
        _ = try PlayerServer(server, client: HTTPClient(), listener: nil)
    }

    /// The kind of vault that the folder's player has its keys in; nil for a folder without a player.
    ///
    /// - Parameter folder: the folder of the player.
    /// - Returns: the kind of vault; nil if the folder has no player.
    /// - Throws: `player.store` if the folder's file cannot be read; `player.vault` for a kind that this version does not know.
    public static func vaultKind(of folder: String) throws(PlayerError) -> VaultKind? {
        guard let state = try load(file(of: folder)) else { return nil }
        guard let kind = VaultKind(rawValue: state.vault) else {
            throw PlayerError(.vault, "the player's keys are in a vault of the unknown kind '\(state.vault)'")
        }
        return kind
    }

    /// Obtains the certificate of this installation. Later calls return the same player, and renew its certificate when that is
    /// due.
    ///
    /// It can be called again after any failure, or after the process was killed: the keys and the player stay the same.
    ///
    /// - Parameters:
    ///   - server: the base URL: https, or http on this machine.
    ///   - session: the session token of an account to link the player to; nil for no link.
    ///   - isForced: whether the server is called although the certificate is young, for example to link the player, or because
    ///     the player's file is older than its store (`player.outdated`): the response must then be as new as the store.
    /// - Returns: the player.
    /// - Throws: ``PlayerError``.
    @discardableResult
    public func personalize(server: String, session: String? = nil, isForced: Bool = false) async throws(PlayerError) -> Identity
    {
        let calls = try PlayerServer(server, client: client, timeouts: timeouts, listener: listener)
        if let state, let identity {
            guard state.server == calls.base || state.server.isEmpty else {
                throw PlayerError(
                    .rejected,
                    "this player belongs to the server \(state.server): use another folder for another server"
                )
            }
            try requireOriginal(state)
            // a player that was certified by a file learns its server now
            if session == nil, !isForced, !state.server.isEmpty, clock.now < identity.renewAt { return identity }
        }
        let kind: PlayerTransaction.Kind = session != nil && isPersonalized ? .link : isPersonalized ? .renewal : .personalization
        listener?(.began(kind))
        do throws(PlayerError) {
            let identity = try await run(kind, calls, session, isForced: isForced)
            listener?(.ended(kind, nil))
            return identity
        } catch {
            listener?(.ended(kind, error))
            throw error
        }
    }

    func requireOriginal(_ state: PlayerState) throws(PlayerError) {
        guard DeviceFingerprint.make(salt: state.salt, folder: folder) == state.fingerprint else {
            throw PlayerError(.fingerprint, "the folder of this player was copied, or the machine is another one")
        }
    }

    private func run(
        _ kind: PlayerTransaction.Kind,
        _ calls: PlayerServer,
        _ session: String?,
        isForced: Bool
    ) async throws(PlayerError) -> Identity {
        func step(_ name: String, _ done: Int) { listener?(.progress(kind, step: name, done: done, total: 4)) }
        // The salt is stored before the server gets it, so that a repeated request belongs to the same installation.
        let base = calls.base
        try await update { if $0.answer == nil { $0.server = base } }
        guard let state else { throw PlayerError(.store, "the player has no state") }
        try requireOriginal(state)
        let anchor = try await anchor(ofOutdated: isForced)
        let (signing, agreement) = try await keys()
        let host = host
        step("keys", 1)
        let challenge = try await calls.post("/v1/personalize/challenge", type: nil, "")
        guard let nonce = challenge["nonce"]?.string else {
            throw PlayerError(.host, "the server's answer has no nonce: is it a Carrel server?")
        }
        step("challenge", 2)
        let request = try await request(nonce, signing, agreement, state.fingerprint)
        let json = try await calls.post("/v1/personalize", type: "application/jose", request, token: session)
        step("certificate", 3)
        // results of concurrent calls are used too
        let known = self.state?.answer
        let answer = try verified(json, nonce: nonce, signing, known: known)
        _ = try ServiceTrust(answer, anchor: anchor)
        try await update { state in
            state.server = base
            state.answer = ServiceTrust.newest(answer, state.answer)
        }
        if let time = try? TrustedTime(answer.time, keys: try await trust().keys) { try await take(time.instant, on: host) }
        step("stored", 4)
        guard let identity else { throw PlayerError(.rejected, "the server's certificate cannot be read") }
        return identity
    }

    func newState(_ server: String) -> PlayerState {
        let salt = Random.bytes(DeviceFingerprint.saltByteCount)
        return PlayerState(
            server: server,
            vault: vault.kind.rawValue,
            salt: salt,
            fingerprint: DeviceFingerprint.make(salt: salt, folder: folder)
        )
    }

    func keys() async throws(PlayerError) -> (signing: P256.PublicKey, agreement: P256.PublicKey) {
        let signing: P256.PublicKey?
        let agreement: P256.PublicKey?
        do throws(VaultError) {
            // The keys of a certificate must already exist; new keys would not match it.
            if isPersonalized {
                signing = try await vault.publicKey(named: Self.signingKey)
                agreement = try await vault.publicKey(named: Self.agreementKey)
            } else {
                signing = try await vault.makeKey(named: Self.signingKey, for: .sign)
                agreement = try await vault.makeKey(named: Self.agreementKey, for: .agree)
            }
        } catch {
            throw Self.failure(error)
        }
        guard let signing, let agreement else { throw PlayerError(.vault, "the vault has lost the player's keys") }
        return (signing, agreement)
    }

    func request(
        _ nonce: String,
        _ signing: P256.PublicKey,
        _ agreement: P256.PublicKey,
        _ fingerprint: [UInt8]
    ) async throws(PlayerError) -> String {
        let vault = vault
        do {
            return try await PersonalizationRequest.make(
                nonce: nonce,
                signingKey: signing,
                agreementKey: agreement,
                fingerprint: fingerprint,
                level: vault.level,
                app: app.name,
                build: app.build,
                deviceName: app.device,
                clock: clock.now
            ) { try await vault.sign($0, withKey: Self.signingKey) }
        } catch let error as VaultError {
            throw Self.failure(error)
        } catch {
            throw PlayerError(.vault, "the vault does not sign")
        }
    }

    /// Returns the response if it chains to the trusted root; at first contact, the root that the server names is trusted.
    func verified(
        _ json: JSON,
        nonce: String,
        _ signing: P256.PublicKey,
        known: PersonalizationResponse?
    ) throws(PlayerError) -> PersonalizationResponse {
        do throws(RightsError) {
            let answer = try PersonalizationResponse(json)
            let former = try known?.trust.verified(from: nil).keys.number
            let (root, keys) = try answer.trust.verified(from: known?.trust.root, notBefore: former ?? 0)
            let time = try TrustedTime(answer.time, keys: keys)
            guard time.nonce == nonce else { throw RightsError(.signature, "the time of the service is not for this request") }
            let certificate = try keys.player(answer.certificate, root: root, at: time.instant)
            // A server removes a player whose certificate expired long ago, and a restored database may not have the player: the
            // same keys then make a new player. The signed time contains the nonce of this request, so that an older response
            // cannot restore a former ID.
            guard certificate.key == signing, certificate.player == answer.player else {
                throw RightsError(.signature, "the certificate is for another player")
            }
            let revocations = try Revocations(answer.revocations, keys: keys)
            if let known, let older = try? Revocations(known.revocations, keys: keys), older.number > revocations.number {
                throw RightsError(.signature, "the list of what is revoked is older than the one that is known")
            }
            guard time.instant <= revocations.validity.upperBound else {
                throw RightsError(.expired, "the list of what is revoked ended at \(revocations.validity.upperBound)")
            }
            return answer
        } catch {
            throw PlayerError(.rejected, error.message)
        }
    }

    /// Changes the player's file under an exclusive lock: it is read again first, so that processes do not undo each other's
    /// changes.
    ///
    /// - Parameter change: gets the state on the disk, or a new one if there is none.
    /// - Throws: `player.store`.
    func update(_ change: @escaping @Sendable (inout PlayerState) -> Void) async throws(PlayerError) {
        let (file, usual) = (file, state ?? newState(""))
        do {
            state = try await Self.files.run {
                try file.locked {
                    let known = try Self.load(file)
                    var changed = known ?? usual
                    change(&changed)
                    try file.save(changed.bytes)
                    return changed
                }
            }
        } catch let error as PlayerError {
            throw error
        } catch let error as ReaderError {
            throw PlayerError(.store, "\(error.message), in \(folder)")
        } catch {
            throw PlayerError(.store, "the file with the player's certificate cannot be written")
        }
        changes += 1
        knownTrust = nil
        // another process may have written the file since it was last read here
        knownMark = nil
    }

    /// Takes over the state that another process wrote.
    func take(_ read: PlayerState) {
        state = read
        changes += 1
        knownTrust = nil
    }

    /// The clocks of this device.
    var host: HostClock { hostClock(clock) }

    /// The folder with everything of this player.
    var place: String { folder }

    static func failure(_ error: VaultError) -> PlayerError { PlayerError(.vault, error.message) }
}
