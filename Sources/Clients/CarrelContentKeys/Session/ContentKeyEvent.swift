// SPDX-License-Identifier: Apache-2.0

/// An event of a ``ContentKeySession``.
@nonexhaustive
public enum ContentKeyEvent: Sendable {
    /// A request was provided; its kind tells online, persistable and renewing ones apart.
    case provided(ContentKeyRequest)
    /// A persistable key is on the disk.
    case stored(ContentKeyRequest)
    /// A key is available.
    case available(ContentKeyRequest)
    /// A key was renewed.
    case renewed(ContentKeyRequest)
    /// A request is made again.
    case retried(ContentKeyRequest, ContentKeyRequest.RetryReason)
    /// A key is not available.
    case failed(ContentKeyRequest, ContentKeyError)
    /// All keys of an asset are available: once, after the last of them.
    case allKeysAvailable(ContentKeyAsset.ID)
    /// The first play of a stored license was written, before the first byte of content leaves: the second clock runs.
    case updated(license: String)
    /// The persistable keys of an asset were removed.
    case invalidated(ContentKeyAsset.ID)
}

/// Answers the requests of a ``ContentKeySession``. Every method has a default: the session's own key delivery.
public protocol ContentKeySessionDelegate: Sendable {
    /// Answers a request for a key.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - request: the request, answered before the delegate returns or later.
    func contentKeySession(_ session: ContentKeySession, didProvide request: ContentKeyRequest) async

    /// Answers a request for a persistable key.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - request: the request.
    func contentKeySession(_ session: ContentKeySession, didProvidePersistable request: ContentKeyRequest) async

    /// Answers a request that renews a key.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - request: the request.
    func contentKeySession(_ session: ContentKeySession, didProvideRenewing request: ContentKeyRequest) async

    /// Notes that the first play of a stored license was written, before the first byte of content leaves.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - license: the id of the license.
    func contentKeySession(_ session: ContentKeySession, didUpdatePersistableContentKey license: String) async

    /// Decides whether a request is made again.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - request: the request.
    ///   - reason: why.
    /// - Returns: whether it is made again. By default, except after a timeout; at most twice.
    func contentKeySession(
        _ session: ContentKeySession,
        shouldRetry request: ContentKeyRequest,
        reason: ContentKeyRequest.RetryReason
    ) async -> Bool

    /// Notes that a key is not available.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - request: the request.
    ///   - error: the failure.
    func contentKeySession(_ session: ContentKeySession, _ request: ContentKeyRequest, didFailWith error: ContentKeyError) async
}

extension ContentKeySessionDelegate {
    /// Delivers the key as the session does by itself.
    public func contentKeySession(_ session: ContentKeySession, didProvide request: ContentKeyRequest) async {
        await session.deliver(request)
    }

    /// Delivers the key as the session does by itself.
    public func contentKeySession(_ session: ContentKeySession, didProvidePersistable request: ContentKeyRequest) async {
        await session.deliver(request)
    }

    /// Delivers the key as the session does by itself.
    public func contentKeySession(_ session: ContentKeySession, didProvideRenewing request: ContentKeyRequest) async {
        await session.deliver(request)
    }

    /// Ignores the event.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - license: the id of the license.
    public func contentKeySession(_ session: ContentKeySession, didUpdatePersistableContentKey license: String) async {}

    /// True, except after a timeout.
    public func contentKeySession(
        _ session: ContentKeySession,
        shouldRetry request: ContentKeyRequest,
        reason: ContentKeyRequest.RetryReason
    ) async -> Bool { reason != .timedOut }

    /// Does nothing.
    public func contentKeySession(
        _ session: ContentKeySession,
        _ request: ContentKeyRequest,
        didFailWith error: ContentKeyError
    ) async {}
}

/// The delegate of a session without an app's own.
struct OwnDelivery: ContentKeySessionDelegate {}
