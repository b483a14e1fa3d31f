// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// The loop of a client, started by the first request: a client without requests starts no thread and does not initialize libcurl.
///
/// A client and its streams share it. The last of them closes the loop, which ends every transfer.
final class LazyLoop: Sendable {
    private let configuration: HTTPClientConfiguration
    private let loop = Locked<CurlLoop?>(nil)

    init(_ configuration: HTTPClientConfiguration) {
        self.configuration = configuration
    }

    deinit {
        loop.withLock { $0?.close() }
    }

    /// Returns the loop, started if it is not running yet.
    ///
    /// - Throws: `client.failed` when the system has no memory or no thread for it.
    func start() throws(HTTPClientError) -> CurlLoop {
        let configuration = configuration
        return try loop.withLock { loop throws(HTTPClientError) in
            if let loop { return loop }
            let newLoop = try CurlLoop(
                maxConnectionsPerHost: configuration.maxConnectionsPerHost,
                maxConnections: configuration.maxConnections,
                threads: configuration.threads
            )
            loop = newLoop
            return newLoop
        }
    }
}
