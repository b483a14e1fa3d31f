// SPDX-License-Identifier: Apache-2.0

import CWeb
import CarrelBytes
import CarrelCrypto

/// The files of the bookshelf and listening pages, which live in the binary.
package enum WebAssets {
    /// Every file, by name.
    package static let all: [WebAsset] = (0..<cweb_count()).map { index in
        let asset = unsafe cweb_at(index)
        let bytes = unsafe [UInt8](UnsafeBufferPointer(start: asset.bytes, count: asset.count))
        let digest = SHA256.hash(bytes.rawSpan)
        return unsafe WebAsset(
            name: String(cString: asset.name),
            mediaType: String(cString: asset.media_type),
            bytes: bytes,
            etag: "\"\(Base64URL.encode(digest.prefix(16)))\""
        )
    }

    private static let byName = [String: WebAsset](uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The file with this name, nil if there is none.
    package static func named(_ name: String) -> WebAsset? {
        byName[name]
    }

    /// The `Content-Security-Policy` that every page is served with (CSP Level 3): our own files only, no inline script or
    /// style, audio from Media Source Extensions (`blob:`), no markup made from strings.
    package static let contentSecurityPolicy = [
        "default-src 'self'", "media-src 'self' blob:", "object-src 'none'", "base-uri 'none'", "form-action 'self'",
        "frame-ancestors 'none'", "require-trusted-types-for 'script'",
    ].joined(separator: "; ")
}
