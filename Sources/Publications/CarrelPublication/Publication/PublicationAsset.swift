// SPDX-License-Identifier: Apache-2.0

/// A file, folder or address that may be a publication.
public struct PublicationAsset: Sendable, Equatable {
    /// The location of an asset.
    public enum Location: Sendable, Equatable {
        /// A file or a folder of this machine.
        case file(path: String)
        /// An `https:` or `http:` address.
        case remote(url: String)
    }

    /// The file or address.
    public let location: Location
    /// The media type, if known; the content takes precedence.
    public var mediaType: MediaType?
    /// A license document stored separately, which replaces one in the package; nil if there is none.
    public var license: [UInt8]?

    /// Creates an asset of this machine.
    ///
    /// - Parameters:
    ///   - path: a file or a folder; relative paths start at the working directory.
    ///   - mediaType: a hint; the bytes decide.
    public init(path: String, mediaType: MediaType? = nil) {
        location = .file(path: path)
        self.mediaType = mediaType
    }

    /// Creates an asset of a server.
    ///
    /// - Parameters:
    ///   - url: an absolute `https:` or `http:` address.
    ///   - mediaType: a hint; the response and the bytes decide.
    public init(url: String, mediaType: MediaType? = nil) {
        location = .remote(url: url)
        self.mediaType = mediaType
    }

    /// Whether a server has it.
    var isRemote: Bool { if case .remote = location { true } else { false } }

    /// The last part of the path or address, decoded if possible.
    public var name: String {
        let path =
            switch location {
            case .file(let path): ResourcePath(decoded: path)
            case .remote(let url): url.pathStart.flatMap { ResourcePath(href: url[$0...]) }
            }
        return (path?.name).map(String.init) ?? ""
    }
}

extension String {
    /// The start of the path of an absolute address: after its scheme and its authority. Nil if it has none.
    fileprivate var pathStart: Index? {
        guard let colon = firstIndex(of: ":"), self[index(after: colon)...].hasPrefix("//") else { return nil }
        return self[index(colon, offsetBy: 3)...].firstIndex(of: "/")
    }
}
