// SPDX-License-Identifier: Apache-2.0

public import CarrelPublication
public import FoundationEssentials

extension PublicationAsset {
    /// A publication at a URL.
    ///
    /// - Parameters:
    ///   - url: a `file:` URL of this machine, or an absolute `https:` or `http:` URL.
    ///   - mediaType: the declared media type, if any; the content takes precedence.
    public init(_ url: URL, mediaType: MediaType? = nil) {
        if url.isFileURL {
            self.init(path: url.path(percentEncoded: false), mediaType: mediaType)
        } else {
            self.init(url: url.absoluteString, mediaType: mediaType)
        }
    }

    /// The address of the asset.
    public var url: URL? {
        switch location {
        case .file(let path): URL(filePath: path)
        case .remote(let url): URL(string: url)
        }
    }
}
