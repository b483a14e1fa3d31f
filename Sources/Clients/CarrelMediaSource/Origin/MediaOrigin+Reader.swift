// SPDX-License-Identifier: Apache-2.0

package import CarrelMP4
import CarrelMedia
import CarrelThreads

extension MediaOrigin {
    /// Returns a reader of the source by ranges, for threads that may block.
    ///
    /// - Throws: ``ProxyError``.
    package func reader() async throws(ProxyError) -> any ByteReader & Sendable {
        do {
            if let package { return SavedReader(package, address, length: try await Self.length(of: address, in: package)) }
            guard isRemote else { return try await OriginStream.threads.run { [source] in try LocalFile(source) } }
            return try await RemoteFile(source, client: OriginHTTPClient(self))
        } catch {
            throw ProxyError(error, in: Self.shown(address))
        }
    }
}
