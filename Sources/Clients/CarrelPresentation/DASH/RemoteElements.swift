// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelMediaSource

/// Remote elements of an MPD (xlink, ISO/IEC 23009-1 §5.5.3): each is loaded once, and only from the origin of the MPD.
enum RemoteElements {
    /// Elements that are loaded, at most, bytes of one, and of all.
    private static let countLimit = 100
    private static let limit = 8 << 20
    private static let totalLimit = 16 << 20
    /// All are loaded within this time: a player waits for its playlist.
    private static let patience = Duration.seconds(20)

    /// Inserts the remote elements of an MPD.
    ///
    /// - Parameters:
    ///   - bytes: the MPD.
    ///   - url: its address.
    ///   - origin: loads elements.
    /// - Returns: the MPD, without elements that cannot be loaded; and the addresses on other origins, which are never loaded.
    /// - Throws: `proxy.manifest` if the result is not an MPD.
    static func inserted(into bytes: [UInt8], of url: String, _ origin: MediaOrigin) async throws(ProxyError) -> (
        bytes: [UInt8], refused: [String]
    ) {
        do throws(Malformed) {
            let references = try MPDReferences(bytes, url: url)
            guard !references.list.isEmpty else { return (bytes, []) }
            guard references.list.count <= countLimit else {
                throw Malformed("MPD has more than \(countLimit) remote elements", at: 0)
            }
            var resolutions: [MPDResolution] = []
            var refused: [String] = []
            var room = totalLimit
            let deadline = origin.clock.now + patience
            for reference in references.list {
                guard let address = reference.url else {
                    resolutions.append(.content([]))
                    continue
                }
                let isSame = origin.isSameOrigin(address, url)
                if !isSame { refused.append(address) }
                guard isSame, let content = await content(at: address, deadline, origin) else {
                    resolutions.append(.failed)
                    continue
                }
                guard content.count <= room else {
                    throw Malformed("remote elements of the MPD have more than \(totalLimit) bytes", at: 0)
                }
                room -= content.count
                resolutions.append(.content(content))
            }
            return (try references.resolve(resolutions), refused)
        } catch {
            throw ProxyError(.manifest, "\(MediaOrigin.shown(url)): \(error.description)")
        }
    }

    private static func content(at address: String, _ deadline: ContinuousClock.Instant, _ origin: MediaOrigin) async -> [UInt8]?
    {
        let time = origin.clock.now.duration(to: deadline)
        guard time > .zero else { return nil }
        return try? await cancelling(after: time, on: origin.clock) { try await origin.load(address, limit: limit).bytes }
    }
}
