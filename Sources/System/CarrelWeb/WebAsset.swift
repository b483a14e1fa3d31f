// SPDX-License-Identifier: Apache-2.0

/// A file of the web pages: a page, a style sheet, a script or a drawing.
package struct WebAsset: Sendable, CustomStringConvertible {
    /// The file's name, as in `/assets/NAME`.
    package let name: String
    /// The `Content-Type` to serve it with.
    package let mediaType: String
    /// The file itself.
    package let bytes: [UInt8]
    /// A strong entity tag with its quotes (RFC 9110 §8.8.3), made of the first 128 bits of the SHA-256 of `bytes`.
    package let etag: String

    package var description: String { "\(name) (\(bytes.count) bytes)" }
}
