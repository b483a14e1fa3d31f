// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelLoopback
public import CarrelMedia
public import CarrelMediaSource
import CarrelPresentation
public import CarrelReader
import CarrelThreads

/// Serves protected media, from this machine or a server, to any player on this machine, as clear HLS or as a clear byte stream.
///
/// ```swift
/// let proxy = try PlaylistProxy(expectedMajor: 1)
/// try proxy.start()
/// let url = try proxy.makeURL("https://example.org/film.mpd", .dash, keys: keys)
/// // … a player plays the address …
/// await proxy.stop()
/// ```
///
/// The address of a session contains 256 random bits; requests without them, or from other users of the machine, get 403.
public final class PlaylistProxy: Sendable {
    /// The version of the interface.
    public struct Version: Sendable, Hashable, CustomStringConvertible {
        /// Changes when an app has to.
        public let major: Int
        /// Changes with every addition.
        public let minor: Int

        /// Both numbers with a point between them.
        public var description: String { "\(major).\(minor)" }
    }

    /// The version of this library.
    public static let version = Version(major: 1, minor: 0)

    /// The kind of a source.
    public typealias SourceType = MediaSourceType
    /// Settings that all sessions of a proxy share.
    public typealias Options = ProxyOptions
    /// The form of segments.
    public typealias Output = ProxyOptions.Output
    /// The rules that playlists follow.
    public typealias Rules = ProxyOptions.Rules
    /// Which sources are taken.
    public typealias Policy = ProxyOptions.Policy
    /// The permitted clients.
    public typealias Clients = ProxyOptions.Clients
    /// Whether a request waits for a license that is not there yet.
    public typealias LicenseWait = ProxyOptions.LicenseWait

    private struct State {
        var hasStarted = false
        var origin: String?
        var sessions: [ObjectIdentifier: ProxySession] = [:]
        /// Sessions that have ended, until their rights are released.
        var ended: [ObjectIdentifier: ProxySession] = [:]
        var lastError: ProxyError?
    }

    private let options: Options
    private let server: SessionServer
    private let client: HTTPClient
    let gate: LicenseGate
    private let share: ProxyShare
    private let state = Locked(State())

    /// Creates a proxy; call `start()` to listen.
    ///
    /// - Parameters:
    ///   - expectedMajor: the major version that the app was written for.
    ///   - options: the settings of all sessions.
    ///   - listener: gets every error, because players stand between the proxy and the app; must not block.
    ///   - trace: gets an event for each request and each segment; must not block.
    /// - Throws: `proxy.version` if this library has another major version.
    public init(
        expectedMajor: Int = PlaylistProxy.version.major,
        options: Options = Options(),
        listener: @escaping @Sendable (ProxyError) -> Void = { _ in },
        trace: @escaping @Sendable (Trace) -> Void = { _ in }
    ) throws(ProxyError) {
        guard expectedMajor == Self.version.major else {
            throw ProxyError(.version, "the app expects version \(expectedMajor) of the proxy, and this is \(Self.version)")
        }
        self.options = options
        gate = LicenseGate(options.limits.clock)
        share = ProxyShare(options) { [state] error in
            state.withLock { $0.lastError = error }
            listener(error)
        } trace: { event in
            trace(event)
        }
        var configuration = SessionServer.Configuration()
        configuration.connectionLimit = options.connectionLimit
        configuration.lookupFailed = { [share] number in
            share.report(ProxyError(.busy, "the kernel cannot name the sender of a request (error \(number)): it got 503"))
        }
        server = SessionServer(configuration)
        var clientConfiguration = HTTPClientConfiguration()
        clientConfiguration.maxConnectionsPerHost = 2 * options.sessionLimit
        clientConfiguration.maxConnections = 4 * options.sessionLimit
        client = HTTPClient(configuration: clientConfiguration)
    }

    /// Listens on a free port of 127.0.0.1. Once.
    ///
    /// - Throws: `proxy.usage` if it has started before, or no port is free.
    public func start() throws(ProxyError) {
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted
        }
        guard isFirst else { throw ProxyError(.usage, "the proxy has started") }
        let origin: String
        do throws(HTTPServerError) { origin = try server.start() } catch { throw ProxyError(.usage, error.message) }
        state.withLock { $0.origin = origin }
    }

    /// Starts a session for a source and returns its address.
    ///
    /// Nothing is loaded until a player requests the address.
    /// - Parameters:
    ///   - source: the path of a file, or an address.
    ///   - type: the kind of source.
    ///   - parameters: what the caller knows about the source.
    ///   - keys: the key source; unused for MS3 addresses, whose keys `rights` provides.
    ///   - rights: redeems the token of an MS3 address.
    ///   - clock: the clock by which keys expire.
    /// - Returns: the session with its address.
    /// - Throws: `proxy.usage`, `proxy.address`, `proxy.unavailable`; `proxy.busy` if there are too many sessions.
    public func makeURL(
        _ source: String,
        _ type: SourceType,
        _ parameters: MediaSourceParameters = MediaSourceParameters(),
        keys: some ContentKeySource = GivenKeys(),
        rights: (any RightsSource)? = nil,
        clock: any WallClock = SystemClock()
    ) throws(ProxyError) -> Session {
        try parameters.check()
        var permissions = MediaOrigin.Permissions()
        permissions.plainHTTP = parameters.allowsPlainHTTP ?? options.allowsPlainHTTP
        permissions.privateNetworks = options.allowsPrivateNetworks
        let address = MS3URL.seems(source) ? try MS3URL(source) : nil
        let redeemed = try sessionRights(address, rights)
        // the token is sent to the rights source only
        let source = address?.contentURL ?? source
        let type = try Self.type(type, of: address)
        permissions.loadTime = options.limits.loadTime
        permissions.clock = options.limits.clock
        let others = [parameters.indexURL, parameters.subtitles?.url].compactMap { $0 }
        let place = try MediaOrigin(source, others: others, client: client, fields: parameters.originFields, permissions)
        let subtitles = try subtitleOrigin(parameters, place, permissions)
        let sessionKeys =
            if let redeemed {
                SessionKeys(redeemed, gate, options.licenseWait)
            } else {
                SessionKeys(keys, gate, options.licenseWait, policy: options.policy)
            }
        return try start(
            SessionSource(name: source, origin: place, type: type, rights: redeemed),
            settings(parameters, sessionKeys, clock, subtitles: subtitles, hasRights: redeemed != nil)
        )
    }

    /// Starts a session for a saved source and returns its address. No request leaves this machine: keys come from `keys` alone.
    ///
    /// A file that is absent or damaged is an error of the request that needs it.
    /// - Parameters:
    ///   - saved: the saved source.
    ///   - parameters: the caller's preferences: languages, tracks, codecs. The package has the addresses and facts of the source.
    ///   - keys: the key source.
    ///   - clock: the clock by which keys expire.
    /// - Returns: the session with its address.
    /// - Throws: `proxy.usage`; `proxy.busy` if there are too many sessions.
    public func makeURL(
        _ saved: SavedMedia,
        _ parameters: MediaSourceParameters = MediaSourceParameters(),
        keys: some ContentKeySource = GivenKeys(),
        clock: any WallClock = SystemClock()
    ) throws(ProxyError) -> Session {
        try parameters.check()
        var permissions = MediaOrigin.Permissions()
        permissions.clock = options.limits.clock
        let origin = MediaOrigin(saved.package, permissions)
        let sessionKeys = SessionKeys(keys, gate, options.licenseWait, policy: options.policy)
        return try start(
            SessionSource(name: saved.id, origin: origin, type: saved.type, rights: nil),
            settings(parameters.applied(to: saved), sessionKeys, clock, subtitles: origin, hasRights: false)
        )
    }

    private func settings(
        _ parameters: MediaSourceParameters,
        _ keys: SessionKeys,
        _ clock: any WallClock,
        subtitles: MediaOrigin,
        hasRights: Bool
    ) -> SessionSettings {
        SessionSettings(
            parameters: parameters,
            form: SegmentForm(options.output),
            allowsFragments: options.allowsFragments,
            policy: options.policy,
            rules: options.rules,
            demuxesAudio: options.demuxesAudio,
            keys: keys,
            clock: clock,
            threads: SessionThreads(share.threads),
            subtitles: subtitles,
            hasRights: hasRights,
            licenses: keys.tokenReceiver,
            mayHaveLicense: hasRights || keys.isCounted
        )
    }

    /// Starts a session.
    private func start(_ source: SessionSource, _ settings: SessionSettings) throws(ProxyError) -> Session {
        guard let origin = state.withLock({ $0.origin }) else { throw ProxyError(.usage, "the proxy does not listen") }
        let content = SessionContent(source, settings, share)
        let session = ProxySession(content)
        let ended = try state.withLock { state throws(ProxyError) -> [ProxySession] in
            let ended = options.isSingleSession ? Array(state.sessions.values) : []
            if options.isSingleSession { state.sessions = [:] }
            guard state.sessions.count < options.sessionLimit else {
                throw ProxyError(.busy, "there are \(options.sessionLimit) sessions")
            }
            state.sessions[ObjectIdentifier(session)] = session
            return ended
        }
        for session in ended { end(session) }
        server.add(session.loopback)
        return Session(
            url: session.url(origin: origin),
            page: session.pageURL(origin: origin),
            token: session.token,
            session,
            self
        )
    }

    /// The rights of an MS3 address, which are redeemed later.
    private func sessionRights(_ address: MS3URL?, _ source: (any RightsSource)?) throws(ProxyError) -> SessionRights? {
        guard let address else { return nil }
        guard let source else {
            throw ProxyError(
                .usage,
                "an MS3 address needs a source of rights",
                recommendation: "Pass a RightsSource that redeems the token of the address."
            )
        }
        let client = try RightsHTTPClient(address, client, allowsPrivateNetworks: options.allowsPrivateNetworks)
        return SessionRights(address, source, client, clock: options.limits.clock)
    }

    /// The kind of the content, from the MS3 address if it declares one.
    private static func type(_ type: SourceType, of address: MS3URL?) throws(ProxyError) -> SourceType {
        guard let address, address.isPlaylist else { return type }
        guard type != .dash else { throw ProxyError(.usage, "the MS3 address leads to an HLS playlist, not to DASH") }
        return .hls
    }

    /// The origin of a separate subtitle file: the source's, unless only one of them is on a server.
    private func subtitleOrigin(
        _ parameters: MediaSourceParameters,
        _ source: MediaOrigin,
        _ permissions: MediaOrigin.Permissions
    ) throws(ProxyError) -> MediaOrigin {
        guard let url = parameters.subtitles?.url else { return source }
        let isFile = url.lowercased().hasPrefix("file:") || !source.isRemote && url.hasPrefix("/")
        guard isFile || MediaOrigin.isURL(url) && !source.isRemote else { return source }
        return try MediaOrigin(url, client: client, fields: [:], permissions)
    }

    /// A source that is being served.
    public final class Session: Sendable {
        /// The address for the player. Anyone with this URL can play the source.
        public let url: String
        /// The token in the address, or for `Authorization: Bearer`.
        public let authToken: String
        /// The address of a page that shows the media in a browser.
        public let pageURL: String
        private let session: ProxySession
        private let proxy: PlaylistProxy

        init(url: String, page: String, token: String, _ session: ProxySession, _ proxy: PlaylistProxy) {
            self.url = url
            pageURL = page
            authToken = token
            self.session = session
            self.proxy = proxy
        }

        /// Looks into the source before a player does: its playlists, and the beginning of its first segments, which needs their
        /// keys.
        ///
        /// The listener does not hear the error. The token of an MS3 address is redeemed.
        /// - Returns: its facts.
        /// - Throws: the error that a player would get.
        public func check() async throws(ProxyError) -> SourceSummary { try await session.check() }

        /// Returns how far the player has come since the first call.
        ///
        /// - Returns: the progress so far.
        public func progress() -> SessionProgress { session.progress() }

        /// Ends the session: its address is refused from here on, and running responses are cut.
        public func end() { proxy.end(session) }
    }

    private func end(_ session: ProxySession) {
        let id = ObjectIdentifier(session)
        state.withLock { state in
            state.sessions[id] = nil
            state.ended[id] = session
        }
        session.end()
        server.remove(session.loopback)
        Task { [state] in
            await session.released()
            state.withLock { $0.ended[id] = nil }
        }
    }

    /// Ends all sessions, and stops listening.
    public func stop() async {
        let sessions = state.withLock { state in
            defer { (state.sessions, state.origin) = ([:], nil) }
            return Array(state.sessions.values)
        }
        for session in sessions { end(session) }
        await release(state.withLock { Array($0.ended.values) })
        await server.stop()
    }

    /// The longest time that the end of a proxy waits for rights services.
    private static let releaseLimit = Duration.seconds(5)

    /// Returns once the rights of all sessions are released, or after a time limit: an app's own client may ignore cancellation.
    private func release(_ sessions: [ProxySession]) async {
        let (waiting, ended) = AsyncStream<Void>.makeStream()
        let releasing = Task {
            await withTaskGroup { group in
                for session in sessions { group.addTask { await session.released() } }
            }
            ended.finish()
        }
        let timer = Task { [clock = options.limits.clock] in
            try await clock.sleep(for: Self.releaseLimit)
            releasing.cancel()
            ended.finish()
        }
        // even if the caller was cancelled
        await Task { for await _ in waiting {} }.value
        timer.cancel()
    }

    /// The last error of any session, once.
    public func takeLastError() -> ProxyError? {
        state.withLock { state in
            defer { state.lastError = nil }
            return state.lastError
        }
    }

    /// Resumes requests that wait for a license.
    ///
    /// - Parameter name: the key that arrived; nil for all.
    public func unblock(_ name: ContentKeyName? = nil) { gate.open { name == nil || $0 == name } }

    /// Resumes requests that wait for a license with a known token.
    ///
    /// - Parameters:
    ///   - kind: the kind of the license.
    ///   - token: the token of the license. A key source that is a ``LicenseTokenReceiver`` gets the token of a
    ///     ``LicenseKind/token`` before its keys are requested again.
    public func unblock(_ kind: LicenseKind, _ token: String) {
        switch kind {
        case .key:
            let id = Hex.decode(token)
            gate.open { name in
                switch name {
                case .id(let known): known == id
                case .content(let known), .address(let known): known == token
                default: false
                }
            }
        case .token:
            let receivers = state.withLock { $0.sessions.values.compactMap(\.licenseTokenReceiver) }
            Task { [gate] in
                for receiver in receivers { await receiver.receive(licenseToken: token) }
                gate.open { _ in true }
            }
        }
    }
}
