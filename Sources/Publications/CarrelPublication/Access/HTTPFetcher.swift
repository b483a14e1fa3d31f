// SPDX-License-Identifier: Apache-2.0

public import CarrelHTTP
public import CarrelHTTPClient

/// Resources of a server, by their addresses. One that is read in pieces one after another is read ahead.
public final class HTTPFetcher: Fetcher {
    private let base: String?
    private let client: HTTPClient
    private let headers: @Sendable () async throws(ResourceError) -> HTTPFields

    /// Creates a fetcher of resources on servers.
    ///
    /// - Parameters:
    ///   - base: the address of the manifest, the base of relative addresses; nil if all addresses are absolute.
    ///   - client: sends the requests.
    ///   - headers: fields of every request to the origin of `base`, such as a bearer token.
    public init(
        base: String?,
        client: HTTPClient,
        headers: @escaping @Sendable () async throws(ResourceError) -> HTTPFields = { () throws(ResourceError) in HTTPFields() }
    ) {
        self.base = base
        self.client = client
        self.headers = headers
    }

    /// Returns nothing: a server does not list its resources.
    ///
    /// - Throws: nothing; other fetchers may fail.
    public func links() async throws(ResourceError) -> [Link] { [] }

    public func get(_ link: Link) -> any Resource {
        guard let resource = resource(link) else { return FailingResource.notFound(link) }
        return BufferingResource(resource)
    }

    /// Without reading ahead; nil for what has no address on a server.
    private func resource(_ link: Link) -> HTTPResource? {
        if ResourcePath.hasScheme(link.href) {
            guard link.href.hasPrefix("https://") || link.href.hasPrefix("http://") else { return nil }
            let url = String(link.href.prefix { $0 != "#" })
            guard let base, Self.origin(of: url) == Self.origin(of: base) else {
                return HTTPResource(link, url: url, client: client)
            }
            return HTTPResource(link, url: url, client: client, headers: headers)
        }
        return base.flatMap { Self.resolve(link.href, $0) }.map { HTTPResource(link, url: $0, client: client, headers: headers) }
    }

    /// The scheme and authority of an address as spelled, without a path. Another spelling is another origin.
    ///
    /// - Parameter url: absolute.
    /// - Returns: such as `https://books.example`.
    public static func origin(of url: String) -> Substring {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else { return url[...] }
        let authority = url.index(colon, offsetBy: 3)
        return url[..<(url[authority...].firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? url.endIndex)]
    }

    /// RFC 3986 §5.2, for a base with a scheme and an authority.
    static func resolve(_ href: String, _ base: String) -> String? {
        let origin = origin(of: base)
        let path = base[origin.endIndex...].prefix { $0 != "?" && $0 != "#" }
        let folder = path.hasPrefix("/") ? ResourcePath(href: path.dropFirst()) : nil
        let isFolder = path.hasSuffix("/")
        let start = isFolder ? folder.flatMap { ResourcePath(decoded: $0.string + "/_") } : folder
        guard let target = ResourcePath(href: href, relativeTo: start) else { return nil }
        let query = href.firstIndex(of: "?").map { href[$0...].prefix { $0 != "#" } } ?? ""
        return "\(origin)/\(target.href)\(query)"
    }
}
