// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP

/// References to files (RFC 3986): playlists and manifests name files with escapes, and some of them without.
package enum LocalReference {
    /// The path of a file with everything escaped that has a meaning in references.
    package static func address(ofFile path: String) -> String {
        // by bytes: a mark that combines with a slash is part of a name
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { PercentEncoding.encode(String(decoding: $0, as: UTF8.self)) }.joined(separator: "/")
    }

    /// Whether a path begins with a slash.
    package static func isAbsolute(_ path: String) -> Bool { path.utf8.first == UInt8(ascii: "/") }

    /// Whether a reference names a file of this machine.
    package static func isLocal(_ reference: String) -> Bool {
        let parts = URIReference(reference)
        return ["", "localhost"].contains(parts.authority?.lowercased() ?? "")
    }

    /// The paths that a resolved reference may mean, likeliest first: decoded, without query and fragment; decoded with both, for
    /// names with unescaped `#` and `?`; verbatim.
    package static func paths(_ reference: String) -> [String] {
        [decoded(URIReference(reference).path), decoded(reference[...]), reference].filter { !$0.isEmpty && !$0.contains("\0") }
    }

    /// Decodes percent escapes; anything else is unchanged.
    private static func decoded(_ text: Substring) -> String {
        var out: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, let value = Hex.decode(Substring(rest.prefix(2)))?.first {
                out.append(value)
                rest = rest.dropFirst(2)
            } else {
                out.append(byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
