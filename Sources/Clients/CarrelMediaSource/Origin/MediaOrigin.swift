// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelHTTP
package import CarrelHTTPClient
import CarrelMP4
package import CarrelMedia
import CarrelRights
package import CarrelSavedMedia
import CarrelThreads
import Glibc

/// The places that the bytes of a session may come from: HTTP servers, files below one folder, or a saved package. None leads to
/// another.
package struct MediaOrigin: Sendable {
    /// The permissions of a source.
    package struct Permissions: Sendable {
        /// Plain http beyond this machine.
        package var plainHTTP = false
        /// Addresses of private networks in manifests, playlists, key lines and redirects.
        package var privateNetworks = false
        /// The longest time in which a resource that is read whole comes.
        package var loadTime = Duration.seconds(60)
        /// The clock for pauses between requests, time limits and reloads.
        package var clock = MonotonicClock.system

        package init() {}
    }

    enum Place: Sendable {
        /// The addresses that the caller named.
        case servers(named: [String], NamedOrigins, HTTPClient)
        /// A real path that ends with a slash.
        case folder(String)
        /// A saved source, which keeps its addresses.
        case package(SavedPackage)
    }

    /// The address or the path of the source.
    package let source: String
    /// The source as references are resolved against it: an address, or a path with its special characters escaped.
    package let address: String
    let place: Place
    private let fields: HTTPFields
    private let permissions: Permissions
    /// Gets every document that is loaded, while a download is planned.
    private var recorder: DocumentRecorder?

    /// - Parameters:
    ///   - source: an address, or the path of a file.
    ///   - others: further addresses that the caller named.
    ///   - client: the HTTP client of all sessions.
    ///   - fields: header fields for the origin of the source.
    ///   - permissions: the caller's permissions.
    /// - Throws: `proxy.usage`, `proxy.address`, `proxy.unavailable`.
    package init(
        _ source: String,
        others: [String] = [],
        client: HTTPClient,
        fields: HTTPFields,
        _ permissions: Permissions
    ) throws(ProxyError) {
        self.fields = fields
        self.permissions = permissions
        if Self.isURL(source) {
            self.source = source
            address = source
            place = .servers(named: [source] + others, NamedOrigins(of: [source] + others), client)
            try check(source)
        } else {
            var path = source
            if source.lowercased().hasPrefix("file://") {
                guard let decoded = URIReference.percentDecoded(URIReference(source).path) else {
                    throw ProxyError(.usage, "the path of the source is malformed")
                }
                path = decoded
            }
            guard !source.isEmpty else { throw ProxyError(.usage, "the source is empty") }
            if source.firstRange(of: /[A-Za-z][A-Za-z0-9+.\-]*:\/\//)?.lowerBound == source.startIndex, path == source {
                let scheme = source.prefix { $0 != ":" }
                throw ProxyError(
                    .usage,
                    "sources of the scheme '\(scheme)' are not known",
                    recommendation: "Use https, or a file."
                )
            }
            // an address that was mistyped may hold a token
            let shown = path.contains { $0 == "?" || $0 == "#" } ? Self.shown(path) : path
            guard let real = unsafe realpath(path, nil) else { throw ProxyError(.unavailable, "\(shown) cannot be opened") }
            defer { unsafe free(real) }
            self.source = unsafe String(cString: real)
            address = LocalReference.address(ofFile: self.source)
            var status = stat()
            if unsafe stat(real, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                throw ProxyError(
                    .unavailable,
                    "\(shown) is a folder",
                    recommendation: "Name the file in it that is to be played."
                )
            }
            place = .folder(LocalFolder.folder(ofFile: self.source))
        }
    }

    /// Creates the origin of a saved package, which never sends a request.
    ///
    /// - Parameters:
    ///   - package: has the source.
    ///   - permissions: the clock; a package needs no other permission.
    package init(_ package: SavedPackage, _ permissions: Permissions = Permissions()) {
        source = package.id
        address = package.source.address
        place = .package(package)
        fields = [:]
        self.permissions = permissions
    }

    /// The same origin, which also records the documents that it loads.
    package func recorded(by recorder: DocumentRecorder) -> MediaOrigin {
        var origin = self
        origin.recorder = recorder
        return origin
    }

    /// The package; nil for servers and folders.
    package var package: SavedPackage? { if case .package(let package) = place { package } else { nil } }

    /// The clock of the proxy.
    package var clock: MonotonicClock { permissions.clock }

    /// Whether the source is on a server.
    package var isRemote: Bool { if case .servers = place { true } else { false } }

    package static func isURL(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }

    /// A reference in a document of this origin, resolved.
    package func resolve(_ reference: String, against base: String? = nil) -> String {
        // a package has the addresses of servers, or the paths of a folder
        if !Self.isURL(address), LocalReference.isAbsolute(reference) { return reference }
        return URIReference.resolve(reference, against: base ?? address)
    }

    /// An address as errors show it: without its query and its folders, which may hold secrets such as the tickets of orders.
    package static func shown(_ address: String) -> String {
        guard isURL(address) else {
            let path = address.prefix { $0 != "?" && $0 != "#" }
            let name = path.split(separator: "/").last ?? ""
            return String((URIReference.percentDecoded(name) ?? String(name)).prefix(128))
        }
        var reference = URIReference(address)
        reference.query = nil
        reference.fragment = nil
        if let authority = reference.authority, let at = authority.lastIndex(of: "@") {
            reference.authority = authority[authority.index(after: at)...]
        }
        let names = reference.path.split(separator: "/")
        if names.count > 1, let last = names.last { reference.path = "/…/\(last)" }
        return reference.description
    }

    // MARK: - Requests

    /// Checks that an address may be requested at all; the client checks each redirect.
    private func check(_ url: String) throws(ProxyError) {
        guard let address = ServiceAddress(url), ["http", "https"].contains(address.scheme) else {
            throw ProxyError(.address, "'\(Self.shown(url))' is not an address of a server")
        }
        guard permissions.plainHTTP || address.isTrustworthy else {
            throw ProxyError(.address, "\(Self.shown(url)) is plain http beyond this machine")
        }
    }

    /// Whether two addresses have the same scheme, host and port; files of one folder have.
    package func isSameOrigin(_ address: String, _ other: String) -> Bool {
        Self.isURL(self.address) ? isNamed(address, [other]) : !Self.isURL(address)
    }

    private func isNamed(_ url: String, _ named: [String]) -> Bool {
        let reference = URIReference(url)
        return named.contains { name in
            let other = URIReference(name)
            return other.scheme?.lowercased() == reference.scheme?.lowercased()
                && other.authority?.lowercased() == reference.authority?.lowercased()
        }
    }

    func request(
        _ url: String,
        _ range: Range<Int64>?,
        _ named: [String],
        _ origins: NamedOrigins,
        within time: Duration
    ) throws(ProxyError) -> ClientRequest {
        try check(url)
        var request = ClientRequest(
            url,
            timeouts: ClientTimeouts(
                connect: .seconds(10),
                total: time,
                stall: time == Self.mediaTime ? .seconds(30) : .seconds(20)
            )
        )
        // the caller's header fields for its origin may be secrets
        if isNamed(url, [named[0]]) { for field in fields { request.headers.append(field.name, field.value) } }
        request.addresses = permissions.privateNetworks ? .any : .named(origins)
        request.allowsPlainRedirects = permissions.plainHTTP
        request.maxRedirects = 5
        request.maxResponseBytes = .max
        if let range, !range.isEmpty { request.range = .bytes(range.lowerBound...range.upperBound - 1) }
        return request
    }

    /// The longest time of media, which players take in real time.
    static let mediaTime = Duration.seconds(86_400)

    /// Opens a resource, with back-pressure for the server.
    ///
    /// - Parameters:
    ///   - reference: a resolved address, or a path of a local origin.
    ///   - range: the requested range; nil for all.
    ///   - isWhole: whether it is read completely and immediately: a server that takes too long is then an error.
    /// - Returns: the bytes, in pieces.
    /// - Throws: ``ProxyError``; `proxy.unavailable` after the time limit.
    package func open(
        _ reference: String,
        range: Range<Int64>? = nil,
        isWhole: Bool = false
    ) async throws(ProxyError) -> OriginStream {
        switch place {
        case .servers(let named, let origins, let client):
            let time = isWhole ? permissions.loadTime : Self.mediaTime
            let request = try request(reference, range, named, origins, within: time)
            let stream: ClientStream
            do throws(HTTPClientError) { stream = try await client.open(request) } catch {
                throw ProxyError(error, in: Self.shown(reference))
            }
            switch stream.response.status {
            case .ok where range == nil || range?.lowerBound == 0 && stream.response.length == range?.upperBound: break
            case .partialContent where Self.isRange(range, of: stream.response): break
            case .partialContent:
                stream.cancel()
                throw ProxyError(.wrongLength, "\(Self.shown(reference)): the server returned another range than requested")
            case .ok:
                stream.cancel()
                throw ProxyError(.noRanges, "\(Self.shown(reference)): the server does not serve byte ranges")
            default: throw Self.failure(stream.response, named: Self.shown(reference))
            }
            return OriginStream(stream, name: Self.shown(reference))
        case .folder(let folder):
            let path = try Self.path(reference, in: folder)
            let name = Self.shown(LocalReference.address(ofFile: path))
            let file: LocalFile
            do {
                file = try await OriginStream.threads.run { try LocalFile(path) }
            } catch let error as QueueFull {
                throw ProxyError(error, in: Self.shown(path))
            } catch {
                throw ProxyError(.missing, "\(name) cannot be read")
            }
            let whole = 0..<file.length
            guard range.map({ whole.contains($0.lowerBound) && $0.upperBound <= whole.upperBound }) ?? true else {
                throw ProxyError(.wrongLength, "\(name) has \(file.length) bytes, and more are named")
            }
            return OriginStream(file, range ?? whole, name: name)
        case .package(let package): return try await Self.open(reference, range, in: package)
        }
    }

    /// Sends a request with additional header fields and returns the whole response, whatever its status.
    ///
    /// - Parameters:
    ///   - url: absolute.
    ///   - body: the body of a POST request; nil for GET.
    ///   - fields: additional header fields.
    ///   - limit: maximum size of the body in bytes.
    /// - Returns: the response.
    /// - Throws: ``ProxyError``.
    package func fetch(
        _ url: String,
        posting body: [UInt8]? = nil,
        fields: [MediaHTTPField],
        limit: Int
    ) async throws(ProxyError) -> MediaHTTPResponse {
        guard case .servers(let named, let origins, let client) = place else {
            throw ProxyError(.address, "'\(Self.shown(url))' is on a server")
        }
        var request = try request(url, nil, named, origins, within: permissions.loadTime)
        for field in fields { request.headers.append(field.name, field.value) }
        if let body { (request.method, request.body) = (.post, .bytes(body)) }
        request.maxResponseBytes = Int64(limit)
        do throws(HTTPClientError) {
            let response = try await client.send(request)
            return MediaHTTPResponse(
                status: response.status.rawValue,
                fields: response.headers.map { MediaHTTPField($0.name, $0.value) },
                body: response.body
            )
        } catch {
            guard error.code == .tooLarge else { throw ProxyError(error, in: Self.shown(url)) }
            throw ProxyError(.noRanges, "\(Self.shown(url)): the server does not serve byte ranges")
        }
    }

    /// The error of a response without the resource.
    static func failure(_ response: ClientResponse, named name: String) -> ProxyError {
        let status = response.status.rawValue
        var error = ProxyError(.unavailable, "\(name): the server returned status \(status)")
        if [404, 410].contains(status) { error = ProxyError(.missing, "\(name) does not exist") }
        error.originStatus = status
        error.isTransient = status >= 500 || status == 429
        if status == 503 || status == 429 {
            let seconds = response.headers["Retry-After"].flatMap { UInt32($0) } ?? 0
            error.pause = .seconds(Int64(seconds))
        }
        return error
    }

    /// Whether a response has the requested range.
    static func isRange(_ range: Range<Int64>?, of response: ClientResponse) -> Bool {
        guard let range, let field = response.headers["Content-Range"] else { return false }
        return ContentRange.range(field) == range
    }

    /// Bytes of the source.
    ///
    /// - Throws: `proxy.no-ranges` when the server has no byte ranges; `proxy.unavailable`.
    package func length() async throws(ProxyError) -> Int64 {
        if let package { return try await Self.length(of: address, in: package) }
        guard isRemote else {
            let stream = try await open(address)
            return stream.length ?? 0
        }
        let stream = try await open(address, range: 0..<1, isWhole: true)
        defer { stream.cancel() }
        guard let length = stream.totalLength else {
            throw ProxyError(.noRanges, "\(Self.shown(address)): the server does not tell the length")
        }
        return length
    }

    /// Reads a small resource whole.
    ///
    /// - Parameters:
    ///   - reference: a resolved address, or a path of a local origin.
    ///   - range: the requested range; nil for all.
    ///   - limit: maximum size in bytes.
    /// - Returns: the bytes, and the address after redirects.
    /// - Throws: ``ProxyError``.
    package func load(_ reference: String, range: Range<Int64>? = nil, limit: Int) async throws(ProxyError) -> (
        bytes: [UInt8], url: String
    ) {
        let stream = try await open(reference, range: range, isWhole: true)
        let (bytes, url) = (try await stream.rest(limit: limit), stream.url ?? reference)
        try recorder?.add(SavedDocument(address: reference, range: range, finalAddress: url, bytes: bytes))
        return (bytes, url)
    }

    /// The real path of a file below the folder.
    private static func path(_ reference: String, in folder: String) throws(ProxyError) -> String {
        let refusal = ProxyError(.address, "'\(shown(reference))' is not a file below the folder of the source")
        guard !isURL(reference), LocalReference.isLocal(reference) else { throw refusal }
        for candidate in LocalReference.paths(reference) {
            switch LocalFolder(folder).place(of: candidate) {
            case .inside(let path): return path
            case .outside: throw refusal
            case .missing: continue
            }
        }
        throw ProxyError(.missing, "\(shown(reference)) does not exist")
    }
}
