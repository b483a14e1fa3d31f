// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A request of a ``ContentKeySession`` for one key.
///
/// The session makes it and provides it to its delegate, which answers it by the operations of the session.
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

    private let state = Locked((status: Status.requestingResponse, error: ContentKeyError?.none))

    init(
        _ id: Int,
        _ identifier: ContentKeyIdentifier,
        _ kind: Kind,
        asset: ContentKeyAsset.ID,
        license: String? = nil,
        attempt: Int = 0
    ) {
        self.id = id
        self.identifier = identifier
        self.kind = kind
        self.asset = asset
        self.license = license
        self.attempt = attempt
    }

    /// The state.
    public var status: Status { state.withLock { $0.status } }

    /// Why it failed; nil in other states.
    public var error: ContentKeyError? { state.withLock { $0.error } }

    func set(_ status: Status, _ error: ContentKeyError? = nil) { state.withLock { $0 = (status, error) } }
}
