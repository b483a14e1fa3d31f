import CarrelBytes
import CarrelDASH

/// Elements of an MPD that lie elsewhere (xlink, ISO/IEC 23009-1 §5.5.3): each is loaded once, from the origin of the MPD alone.
enum RemoteElements {
    /// Elements that are loaded, at most, and bytes of one.
    private static let countLimit = 100
    private static let limit = 8 << 20

    /// The MPD with its remote elements.
    ///
    /// - Parameters:
    ///   - bytes: the MPD.
    ///   - url: its address.
    ///   - origin: loads elements.
    /// - Returns: the MPD; an element that cannot be loaded is left out, as the specification wants it.
    /// - Throws: `proxy.manifest` when the result is not an MPD.
    static func inserted(into bytes: [UInt8], of url: String, _ origin: MediaOrigin) async throws(ProxyError) -> [UInt8] {
        do throws(Malformed) {
            let references = try MPDReferences(bytes, url: url)
            guard !references.list.isEmpty else { return bytes }
            guard references.list.count <= countLimit else {
                throw Malformed("MPD has more than \(countLimit) remote elements", at: 0)
            }
            var resolutions: [MPDResolution] = []
            for reference in references.list {
                guard let address = reference.url else {
                    resolutions.append(.content([]))
                    continue
                }
                guard origin.isSameOrigin(address, url), let content = try? await origin.load(address, limit: limit).bytes else {
                    resolutions.append(.failed)
                    continue
                }
                resolutions.append(.content(content))
            }
            return try references.resolved(resolutions)
        } catch {
            throw ProxyError(.manifest, "\(MediaOrigin.shown(url)): \(error.description)")
        }
    }
}
