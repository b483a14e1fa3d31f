// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// The limits of a document, and the strictness of its reader.
package struct CPIXLimits: Sendable {
    /// Bytes of the document.
    package var bytes = 16 << 20
    /// Content keys; also periods.
    package var keys = 10_000
    /// Entries of protection systems, and usage rules: several for each key.
    package var entries = 50_000
    package var recipients = 64
    /// Namespaces of a request. Its response declares them all in its root element, which has 32 attributes at most.
    package var namespaces = 24
    /// Bits of a recipient's RSA key, at least.
    package var rsaBits = 3072
    /// Whether elements may be in any order and unknown, ids may be written without hyphens, and versions are not checked, as in
    /// requests of SPEKE 1.
    package var isLenient = false

    package init() {}

    /// Limits for a request to a key server.
    package static let request: CPIXLimits = {
        var limits = CPIXLimits()
        limits.bytes = 4 << 20
        limits.keys = 1000
        limits.entries = 10_000
        limits.recipients = 16
        return limits
    }()

    /// An encrypted key has ten elements, an entry of a protection system nine.
    var xml: XMLLimits {
        XMLLimits(bytes: bytes, depth: 24, elements: 100 + 10 * keys + 10 * entries, attributes: 32, text: 1 << 20)
    }
}
