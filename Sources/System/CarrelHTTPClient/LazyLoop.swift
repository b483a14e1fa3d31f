// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// The loop of a client, started by the first request: a client without requests starts no thread and does not initialize libcurl.
///
/// A client and its streams share it. The last of them closes the loop, which ends every transfer.
final class LazyLoop: Sendable {
    private let configuration: HTTPClientConfiguration
    private let started = Locked<CurlLoop?>(nil)

    init(_ configuration: HTTPClientConfiguration) {
        self.configuration = configuration
    }

    deinit {
        started.withLock { $0?.close() }
    }

    /// Returns the loop, started if it is not running yet.
    ///
    /// - Throws: `client.failed` when the system has no memory or no thread for it.
    func start() throws(HTTPClientError) -> CurlLoop {
        let configuration = configuration
        return try started.withLock { started throws(HTTPClientError) in
            if let started { return started }
            let loop = try CurlLoop(
                maxConnectionsPerHost: configuration.maxConnectionsPerHost,
                maxConnections: configuration.maxConnections,
                threads: configuration.threads
            )
            started = loop
            return loop
        }
    }
}
