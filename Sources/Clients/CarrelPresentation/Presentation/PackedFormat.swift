// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS

/// A format of audio without a container (RFC 8216 §3.4), by the extension of its names.
package enum PackedFormat: String, Sendable, CaseIterable {
    case aac, mp3, ac3, ec3

    /// The format of a segment that needs no initialization section, by its name at the origin; nil of a transport stream.
    package init?(uri: String) {
        let path = URIReference(uri).path.lowercased()
        guard let end = path.split(separator: ".").last, end.utf8.count < path.utf8.count else { return nil }
        self.init(rawValue: end == "eac3" ? "ec3" : String(end))
    }

    /// The media type.
    package var contentType: String {
        switch self {
        case .aac: "audio/aac"
        case .mp3: "audio/mpeg"
        case .ac3: "audio/ac3"
        case .ec3: "audio/eac3"
        }
    }
}
