// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
public import CarrelLicenseKeys
public import CarrelMedia
public import CarrelPlayer
public import CarrelReader
import CarrelThreads

/// The content keys of a stream, online and for use without a network.
///
/// A key line of a playlist, a manifest or a media file becomes a ``ContentKeyRequest``, which the delegate answers; without a
/// delegate of the app, the session delivers the key itself: from the license server of the player's service, the server of the
/// key's address, or a license server of ClearKey.
///
/// ```swift
/// let session = ContentKeySession(engine, token: token)
/// try await session.persist(keys, item: "a7c2…")
/// ```
public actor ContentKeySession: CountedKeySource, LicenseTokenReceiver {
    /// The servers and the token of a session.
    public struct Options: Sendable {
        /// The license server; nil for the usual address of the player's service. The address of another service is refused.
        public var licenseServer: String?
        /// The address of the service's certificate; nil for its usual address.
        public var certificateURL: String?
        /// The token of the license: an action token (XML) or a license message (JWT); nil if a license is stored, or not needed.
        public var licenseToken: String?
        /// A license server of ClearKey, for keys without a license; nil for none.
        public var clearKeyServer: String?
        /// The address of the stream: an order's key comes over http only if the playlist did.
        public var source: String?
        /// Header fields of the app for key servers, such as an authorization.
        public var keyServerFields: [MediaHTTPField] = []
        /// The address whose origin alone gets the header fields; nil for the origin of `source`.
        public var keyServerOrigin: String?
        /// The content ID of the license, for formats that name neither keys nor content.
        public var content: String?

        /// The player's own service, without a token.
        public init() {}
    }

    /// Keys of one session, at most.
    static let requestLimit = 1 << 16

    nonisolated let engine: PlayerEngine?
    nonisolated let options: Options
    nonisolated let client: any MediaHTTPClient
    nonisolated let server: KeyAddressServer
    nonisolated let log: KeyDeliveryLog
    /// The readers of events and the delegate, which separate uses share with their session.
    private nonisolated let audience: Audience
    /// Whether the events end with this session.
    private nonisolated let ownsAudience: Bool
    /// The licenses in use; nil without a player.
    var licenses: LicenseKeys?

    var token: String?
    private var tokenError: ContentKeyError?
    var assets: [ContentKeyAsset.ID: AssetKeys] = [:]
    private var requestCount = 0
    /// The newest request of each key of an asset.
    var requests: [RequestKey: ContentKeyRequest] = [:]
    /// The newest renewing request of each key, next to the request that has the key.
    private var renewals: [RequestKey: ContentKeyRequest] = [:]
    private var waiters: [ContentKeyRequest.ID: [CheckedContinuation<Void, Never>]] = [:]
    /// The data that were sent for a request.
    var sent: [ContentKeyRequest.ID: SentRequest] = [:]
    /// Keys without a license, for this session.
    var grants: [ContentKeyName: ContentKeyGrant] = [:]
    /// The service's certificate, once it was fetched.
    var certificate: [UInt8]?
    /// Licenses of streams that this session redeemed.
    var heldLicenses: Set<String> = []
    private var lastDelivery: Task<Void, Never>?
    private var isEnded = false

    private final class Audience: Sendable {
        let readers = Locked<[Int: AsyncStream<ContentKeyEvent>.Continuation]>([:])
        let delegate = Locked<any ContentKeySessionDelegate>(OwnDelivery())
        let recipients = Locked<[ContentKeyAsset.ID: ContentKeyAsset]>([:])
        /// The last token that the app gave to the session; nil for the token of its options.
        let token = Locked<String?>(nil)
    }

    private nonisolated var delegate: any ContentKeySessionDelegate { audience.delegate.withLock { $0 } }

    struct RequestKey: Hashable {
        let asset: ContentKeyAsset.ID
        let identifier: ContentKeyIdentifier
    }

    /// The keys of an asset so far.
    struct AssetKeys {
        var asset: ContentKeyAsset
        var available: Set<ContentKeyIdentifier> = []
        /// Keys whose persistable request is pending.
        var persistable: Set<ContentKeyIdentifier> = []
        var isReported = false
    }

    /// The data of a request that was sent.
    struct SentRequest {
        var route: KeyRoute
        var data: PlayerEngine.KeyRequestData?
        var response: KeyAddressServer.Response?
    }

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - engine: the player, which a license server and saved keys require; nil for keys of other servers alone.
    ///   - options: the servers and the token.
    ///   - client: sends the requests to other key servers than the player's service.
    ///   - trace: gets the events of key delivery, without keys, tokens and tickets.
    public init(
        _ engine: PlayerEngine?,
        _ options: Options = Options(),
        client: any MediaHTTPClient = HTTPMediaClient(),
        trace: (@Sendable (Trace) -> Void)? = nil
    ) {
        self.init(engine, options, client: client, log: KeyDeliveryLog(trace), audience: nil)
    }

    private init(
        _ engine: PlayerEngine?,
        _ options: Options,
        client: any MediaHTTPClient,
        log: KeyDeliveryLog,
        audience: Audience?
    ) {
        self.engine = engine
        self.options = options
        self.client = client
        self.log = log
        let shared = audience ?? Audience()
        self.audience = shared
        ownsAudience = audience == nil
        token = shared.token.withLock { $0 } ?? options.licenseToken
        server = KeyAddressServer(
            client: client,
            fields: options.keyServerFields,
            origin: options.keyServerOrigin ?? options.source
        )
    }

    /// The events from now on: a new sequence for each call. A reader that is more than 1,024 events late loses the oldest.
    public nonisolated var events: AsyncStream<ContentKeyEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1024)) { continuation in
            let id = audience.readers.withLock { readers in
                let id = (readers.keys.max() ?? 0) + 1
                readers[id] = continuation
                return id
            }
            continuation.onTermination = { [weak audience] _ in audience?.readers.withLock { $0[id] = nil } }
        }
    }

    nonisolated func report(_ event: ContentKeyEvent) {
        for continuation in audience.readers.withLock({ Array($0.values) }) { continuation.yield(event) }
    }

    /// Sets the delegate.
    ///
    /// - Parameter delegate: answers the requests from now on; nil for the session itself.
    public nonisolated func setDelegate(_ delegate: (any ContentKeySessionDelegate)?) {
        audience.delegate.withLock { $0 = delegate ?? OwnDelivery() }
    }

    // MARK: Recipients

    /// Adds an asset whose keys this session requests.
    ///
    /// - Parameter asset: the asset; one with the same id is replaced.
    public func addRecipient(_ asset: ContentKeyAsset) {
        if assets[asset.id] == nil { assets[asset.id] = AssetKeys(asset: asset) } else { assets[asset.id]?.asset = asset }
        if ownsAudience { audience.recipients.withLock { $0[asset.id] = asset } }
    }

    /// Adds the assets that were added to the session of this use.
    private func addSharedRecipients() {
        guard !ownsAudience else { return }
        for (id, asset) in audience.recipients.withLock({ $0 }) where assets[id] == nil { assets[id] = AssetKeys(asset: asset) }
    }

    /// Removes an asset: its open requests are cancelled.
    ///
    /// - Parameter id: the asset.
    public func removeRecipient(_ id: ContentKeyAsset.ID) {
        assets[id] = nil
        if ownsAudience { audience.recipients.withLock { $0[id] = nil } }
        let removed =
            Array(requests.filter { $0.key.asset == id }.values) + Array(renewals.filter { $0.key.asset == id }.values)
        requests = requests.filter { $0.key.asset != id }
        renewals = renewals.filter { $0.key.asset != id }
        for request in removed {
            if request.status == .requestingResponse {
                finish(
                    request,
                    .cancelled,
                    ContentKeyError(.cancelled, "the asset was removed", key: request.identifier.description)
                )
            }
        }
    }

    /// The asset of requests that name none.
    static let ownAsset = "session"

    // MARK: Requests

    /// Requests a key. If the key was requested before, the same request is returned.
    ///
    /// - Parameters:
    ///   - identifier: the key.
    ///   - asset: the asset that needs it; nil for a stream without an asset.
    /// - Returns: the request, whose outcome ``wait(for:)`` returns.
    /// - Throws: `keys.cancelled` after the end of the session; `keys.refused` for more than 65,536 keys.
    @discardableResult
    public func processRequest(
        _ identifier: ContentKeyIdentifier,
        for asset: ContentKeyAsset.ID? = nil
    ) throws(ContentKeyError) -> ContentKeyRequest {
        let asset = asset ?? Self.ownAsset
        if assets[asset] == nil { assets[asset] = AssetKeys(asset: ContentKeyAsset(id: asset)) }
        if let known = requests[RequestKey(asset: asset, identifier: identifier)] {
            switch known.status {
            case .requestingResponse, .receivedResponse, .renewed: return known
            case .retried, .cancelled, .failed: break
            }
        }
        guard requests.count < Self.requestLimit else {
            throw ContentKeyError(.refused, "the media name more than \(Self.requestLimit) keys")
        }
        log.write("content is encrypted, initiating key request", identifier)
        return try make(identifier, .online, asset: asset)
    }

    /// Waits until a request was answered.
    ///
    /// - Parameter request: a request of this session.
    /// - Throws: the failure of the request.
    public func wait(for request: ContentKeyRequest) async throws(ContentKeyError) {
        var request = request
        while true {
            while request.status == .requestingResponse {
                await withCheckedContinuation { waiters[request.id, default: []].append($0) }
            }
            switch request.status {
            case .receivedResponse, .renewed: return
            case .retried:
                // the request in its place
                let key = RequestKey(asset: request.asset, identifier: request.identifier)
                guard let next = request.kind == .renewing ? renewals[key] : requests[key], next !== request else {
                    throw ContentKeyError(.cancelled, "the request was cancelled", key: request.identifier.description)
                }
                request = next
            default:
                throw request.error
                    ?? ContentKeyError(.cancelled, "the request was cancelled", key: request.identifier.description)
            }
        }
    }

    /// Makes a request and provides it to the delegate.
    func make(
        _ identifier: ContentKeyIdentifier,
        _ kind: ContentKeyRequest.Kind,
        asset: ContentKeyAsset.ID,
        license: String? = nil,
        attempt: Int = 0
    ) throws(ContentKeyError) -> ContentKeyRequest {
        guard !isEnded else { throw ContentKeyError(.cancelled, "the session has ended", key: identifier.description) }
        requestCount += 1
        let request = ContentKeyRequest(
            requestCount,
            identifier,
            kind,
            asset: asset,
            license: license,
            attempt: attempt
        )
        let key = RequestKey(asset: asset, identifier: identifier)
        if kind == .renewing { renewals[key] = request } else { requests[key] = request }
        report(.provided(request))
        // one after another, because the license of the first key may have the others
        let before = isAddressOnly(identifier) ? nil : lastDelivery
        let delivery = Task {
            await before?.value
            await provide(request)
        }
        if !isAddressOnly(identifier) { lastDelivery = delivery }
        return request
    }

    private func provide(_ request: ContentKeyRequest) async {
        guard request.status == .requestingResponse else { return }
        switch request.kind {
        case .online: await delegate.contentKeySession(self, didProvide: request)
        case .persistable: await delegate.contentKeySession(self, didProvidePersistable: request)
        case .renewing: await delegate.contentKeySession(self, didProvideRenewing: request)
        }
    }

    /// Ends a request, and wakes those who wait for it.
    func finish(_ request: ContentKeyRequest, _ status: ContentKeyRequest.Status, _ error: ContentKeyError? = nil) {
        request.set(status, error)
        sent[request.id] = nil
        for waiter in waiters.removeValue(forKey: request.id) ?? [] { waiter.resume() }
    }

    /// Whether a failed request is made again.
    func retries(_ request: ContentKeyRequest, _ reason: ContentKeyRequest.RetryReason) async -> Bool {
        guard request.attempt < 2, !isEnded else { return false }
        return await delegate.contentKeySession(self, shouldRetry: request, reason: reason)
    }

    func noteFailure(_ request: ContentKeyRequest, _ error: ContentKeyError) async {
        await delegate.contentKeySession(self, request, didFailWith: error)
    }

    func noteUpdate(of license: String) async {
        log.write("persistable key updated: its first play is on the disk", license: license)
        report(.updated(license: license))
        await delegate.contentKeySession(self, didUpdatePersistableContentKey: license)
    }

    // MARK: The source of keys

    /// Returns a key: requests it if it was not requested before, and counts the use of its license.
    ///
    /// - Parameter name: the key as named by the file or the playlist.
    /// - Returns: the key; `unknown` if neither a license nor a server is known for it, `refused` with the reason.
    public func key(_ name: ContentKeyName) async -> ContentKeyAnswer { await key(anyOf: [name]).answer }

    /// Returns a key that has several names.
    ///
    /// - Parameter names: the names of the key, the best first.
    /// - Returns: the key, and the name that it was found by.
    public func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?) {
        guard let identifier = ContentKeyIdentifier(names) else { return (.unknown, nil) }
        addSharedRecipients()
        let asset = assets.values.first { $0.asset.keys.contains(identifier) }?.asset.id
        do throws(ContentKeyError) {
            try await wait(for: try processRequest(identifier, for: asset))
        } catch {
            return error.code == .unknownKey ? (.unknown, nil) : (.refused(error.message), names.first)
        }
        for name in names { if let grant = grants[name] { return (.granted(grant), name) } }
        return await licenses?.key(anyOf: names) ?? (.unknown, nil)
    }

    /// The licenses of the player as keys of this session, made at first use.
    func useLicenses() {
        guard licenses == nil, let engine else { return }
        var settings = LicenseKeys.Settings()
        settings.content = options.content
        settings.didBegin = { [weak self] in await self?.noteUpdate(of: $0) }
        licenses = LicenseKeys(engine, settings)
    }

    /// Starts a separate session with the same options, token, delegate, assets and readers of events.
    public nonisolated func newUse() -> any CountedKeySource {
        ContentKeySession(engine, options, client: client, log: log, audience: audience)
    }

    /// Takes a token for the keys that are requested from now on.
    ///
    /// - Parameter licenseToken: an action token or a license message; other text is ignored.
    public func receive(licenseToken: String) {
        guard PlayerEngine.seemsLicense(licenseToken) else { return }
        token = licenseToken
        tokenError = nil
        // the license of an answered key may have ended
        requests = requests.filter { entry in
            entry.value.status == .requestingResponse || entry.key.identifier.names.contains { grants[$0] != nil }
        }
        if ownsAudience { audience.token.withLock { $0 = licenseToken } }
    }

    /// Stores a signed license inside a file, or redeems a token inside it at the device's own service.
    ///
    /// - Parameter text: the license or the token; text in no form of them is ignored.
    public func receive(licenseInFile text: String) async {
        useLicenses()
        await licenses?.receive(licenseInFile: text)
    }

    /// Why the last token gave no license; nil if it gave one, or there was none.
    public var tokenFailure: String? {
        get async {
            if let tokenError { return tokenError.message }
            return await licenses?.tokenFailure
        }
    }

    /// Notes whether the token gave a license.
    func noteToken(_ error: ContentKeyError?) { tokenError = error }

    /// Ends the session: open requests are cancelled, and the slots of streams are released. Stored keys stay.
    public func end() async {
        isEnded = true
        for request in Array(requests.values) + Array(renewals.values) where request.status == .requestingResponse {
            finish(request, .cancelled, ContentKeyError(.cancelled, "the session has ended", key: request.identifier.description))
        }
        for grant in grants.values { grant.end.end("the session has ended") }
        grants = [:]
        await licenses?.end()
        for license in heldLicenses { await engine?.endUnused(license) }
        heldLicenses = []
        guard ownsAudience else { return }
        for continuation in audience.readers.withLock({ Array($0.values) }) { continuation.finish() }
    }
}
