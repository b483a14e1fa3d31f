// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelReader

/// The things that all sessions of a proxy share.
struct ProxyShare: Sendable {
    let options: ProxyOptions
    let threads: SharedThreads
    let prefetch: PrefetchShare
    let watch: KeyWatch
    /// Gets every error.
    let report: @Sendable (ProxyError) -> Void
    /// Gets an event for each request that fails, and each segment.
    let trace: @Sendable (Trace) -> Void

    init(
        _ options: ProxyOptions,
        report: @escaping @Sendable (ProxyError) -> Void,
        trace: @escaping @Sendable (Trace) -> Void
    ) {
        self.options = options
        self.report = report
        self.trace = trace
        threads = SharedThreads(limit: options.limits.sharedThreads, starter: options.limits.threads)
        watch = KeyWatch(options.limits.clock)
        prefetch = PrefetchShare(limit: options.limits.openAhead)
    }
}

/// The source of a session.
struct SessionSource: Sendable {
    /// The path or the address, as passed by the caller.
    let name: String
    let origin: MediaOrigin
    let type: MediaSourceType
    /// The rights of an MS3 address; nil for a source of another kind.
    let rights: SessionRights?
}
