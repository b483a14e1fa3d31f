// SPDX-License-Identifier: Apache-2.0

public import CarrelMedia
import CarrelThreads

/// A request of a ``ContentKeySession`` for one key.
///
/// The session makes it, and its delegate answers it: with ``makeRequestData(certificate:contentIdentifier:keyIDs:versions:)``,
/// ``makePersistableKey(from:)``, ``store(_:)``, ``process(_:)-(ContentKeyResponse)`` or ``process(_:)-(ContentKeyError)``.
public final class ContentKeyRequest: Sendable, Identifiable {
    /// The kinds of requests.
    public enum Kind: String, Sendable {
        /// A key that is used now and not stored.
        case online
        /// A key that is stored for use without a network.
        case persistable
        /// A key that is renewed.
        case renewing
    }

    /// The states of a request.
    public enum Status: String, Sendable {
        /// A response is awaited.
        case requestingResponse = "requesting-response"
        /// The key is available.
        case receivedResponse = "received-response"
        /// The key is available, and was renewed.
        case renewed
        /// Another request takes its place.
        case retried
        /// The session ended, or its asset was removed.
        case cancelled
        /// The key is not available.
        case failed
    }

    /// Why a request is made again.
    public enum RetryReason: String, Sendable {
        /// The server did not respond in time.
        case timedOut = "timed-out"
        /// The license in the response has already ended.
        case expiredLease = "expired-lease-in-response"
        /// The service has replaced the key that the request was encrypted to.
        case obsoleteKey = "obsolete-key"
    }

    /// The number of the request in its session.
    public let id: Int
    /// The key.
    public let identifier: ContentKeyIdentifier
    /// The kind of request.
    public let kind: Kind
    /// The asset that needs the key.
    public let asset: ContentKeyAsset.ID
    /// The license that is renewed; nil for other requests, and for keys without a license.
    let license: String?
    /// How often the request was made before.
    let attempt: Int

    private weak let session: ContentKeySession?
    private let state = Locked((status: Status.requestingResponse, error: ContentKeyError?.none))

    init(
        _ id: Int,
        _ identifier: ContentKeyIdentifier,
        _ kind: Kind,
        asset: ContentKeyAsset.ID,
        license: String? = nil,
        attempt: Int = 0,
        of session: ContentKeySession
    ) {
        self.id = id
        self.identifier = identifier
        self.kind = kind
        self.asset = asset
        self.license = license
        self.attempt = attempt
        self.session = session
    }

    /// The state.
    public var status: Status { state.withLock { $0.status } }

    /// Why it failed; nil in other states.
    public var error: ContentKeyError? { state.withLock { $0.error } }

    func set(_ status: Status, _ error: ContentKeyError? = nil) { state.withLock { $0 = (status, error) } }

    private func owner() throws(ContentKeyError) -> ContentKeySession {
        guard let session else { throw ContentKeyError(.cancelled, "the session of the request has ended") }
        return session
    }

    /// Answers an online request by asking for a persistable one, which the session then provides.
    ///
    /// - Throws: `keys.not-storable` if the key may not be stored; `keys.state` for another kind of request.
    public func respondByRequestingPersistableKey() async throws(ContentKeyError) {
        try await owner().requestPersistableKey(for: self)
    }

    /// Makes the data to send to the key server: for a license, the request that is encrypted to the service's certificate.
    ///
    /// - Parameters:
    ///   - certificate: the service's certificate in DER, which the player's root must have issued; unused by other key servers.
    ///   - contentIdentifier: the content ID; empty for the content of the token.
    ///   - keyIDs: the requested keys, 32 hexadecimal digits each, at most 64; empty for all keys of the content.
    ///   - versions: versions of the protocol, of which the highest common one is used.
    /// - Returns: the data, and where they are sent.
    /// - Throws: ``ContentKeyError``.
    public func makeRequestData(
        certificate: [UInt8],
        contentIdentifier: String = "",
        keyIDs: [String],
        versions: [Int] = [1]
    ) async throws(ContentKeyError) -> ContentKeyRequestData {
        try await owner().makeRequestData(self, certificate, contentIdentifier, keyIDs, versions)
    }

    /// Makes a persistable key from the response of the key server. Nothing is stored yet.
    ///
    /// - Parameter response: the bytes of the response.
    /// - Returns: the key, verified.
    /// - Throws: ``ContentKeyError``; `keys.not-storable` for the license of a stream.
    public func makePersistableKey(from response: [UInt8]) async throws(ContentKeyError) -> PersistableContentKey {
        try await owner().makePersistableKey(self, response)
    }

    /// Writes a persistable key. It is on the disk before this returns.
    ///
    /// - Parameter key: the key.
    /// - Throws: `keys.store`, `keys.refused`.
    public func store(_ key: PersistableContentKey) async throws(ContentKeyError) { try await owner().store(key, for: self) }

    /// Makes a response available to the stream.
    ///
    /// - Parameter response: the response of the key server, or a persistable key.
    /// - Throws: ``ContentKeyError`` if the response is refused; the request is then still open.
    public func process(_ response: ContentKeyResponse) async throws(ContentKeyError) { try await owner().process(response, for: self) }

    /// Ends the request without a key.
    ///
    /// - Parameter error: the failure.
    public func process(_ error: ContentKeyError) async { await session?.process(error, for: self) }
}

/// An asset: a stream whose keys a session requests.
public struct ContentKeyAsset: Sendable, Identifiable {
    /// Its id; of a saved item, the item's.
    public let id: String
    /// The keys that it needs, if they are known. The session reports once that all of them are available.
    public var keys: [ContentKeyIdentifier]
    /// Whether the keys are stored for use without a network.
    public var isSaved: Bool

    /// Creates an asset.
    ///
    /// - Parameters:
    ///   - id: its id, unique in the session; of a saved item, the item's.
    ///   - keys: the keys that it needs, if they are known.
    ///   - isSaved: whether the keys are stored for use without a network.
    public init(id: String, keys: [ContentKeyIdentifier] = [], isSaved: Bool = false) {
        self.id = id
        self.keys = keys
        self.isSaved = isSaved
    }
}

/// Data to send to a key server.
public struct ContentKeyRequestData: Sendable {
    /// The body of a POST request; nil for a GET request.
    public let body: [UInt8]?
    /// The address.
    public let url: String
    /// Header fields of the request: the type of the body, and the token.
    public let fields: [MediaHTTPField]
}

/// A response to a request for a key.
public struct ContentKeyResponse: Sendable {
    enum Content: Sendable {
        case bytes([UInt8])
        case persistable(PersistableContentKey)
    }

    let content: Content

    /// A response of the key server.
    ///
    /// - Parameter bytes: the body of the response.
    public init(_ bytes: [UInt8]) { content = .bytes(bytes) }

    /// A persistable key.
    ///
    /// - Parameter key: the key, which ``ContentKeyRequest/store(_:)`` has written.
    public init(_ key: PersistableContentKey) { content = .persistable(key) }
}
