// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
import CarrelThreads

/// The bytes of an origin, by ranges of one version of the resource.
package struct OriginSource: MediaSource {
    /// The version that was read first, as far as the server names it.
    private struct Version: Sendable {
        var validator: String?
        var length: Int64?
    }

    private let origin: MediaOrigin
    private let version = Locked(Version())

    package init(_ origin: MediaOrigin) {
        self.origin = origin
    }

    package func open() async throws -> MediaSourceInformation {
        let length = try await origin.length()
        version.withLock { $0.length = length }
        return MediaSourceInformation(length: length)
    }

    package func read(_ range: Range<Int64>) async throws -> [UInt8] {
        guard !range.isEmpty else { return [] }
        let stream = try await origin.open(origin.address, range: range, isWhole: true)
        guard isSame(stream) else {
            stream.cancel()
            throw ProxyError(.unavailable, "\(stream.name) has changed while it was read")
        }
        let bytes = try await stream.rest(limit: range.count)
        guard bytes.count == range.count else {
            throw ProxyError(.wrongLength, "\(MediaOrigin.shown(origin.address)) is cut off")
        }
        return bytes
    }

    /// Whether a response is one of the version that was read first: bytes of two make no stream.
    private func isSame(_ stream: OriginStream) -> Bool {
        let (validator, length) = (stream.validator, stream.totalLength)
        return version.withLock { version in
            defer { version = Version(validator: version.validator ?? validator, length: version.length ?? length) }
            return (validator ?? version.validator) == (version.validator ?? validator)
                && (length ?? version.length) == (version.length ?? length)
        }
    }

    package func close() {}
}
