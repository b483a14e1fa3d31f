// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A way to learn the time by which an MPD's segments become available (ISO/IEC 23009-1 §5.8.5.7, UTCTiming).
package struct MPDClock: Sendable, Hashable {
    /// The methods of the specification, by the names in their URIs (`urn:mpeg:dash:utc:NAME:2014`).
    package enum Method: String, Sendable, Hashable, CaseIterable {
        /// The Network Time Protocol (RFC 5905), of servers by their names.
        case ntp
        /// The simple one (RFC 5905 §14).
        case sntp
        /// The `Date` field of the response to a HEAD request.
        case httpHead = "http-head"
        /// A response whose body is a date and time of XML Schema.
        case httpDate = "http-xsdate"
        /// A response whose body is a date and time of ISO 8601.
        case httpISO = "http-iso"
        /// A response whose body is an NTP timestamp.
        case httpNTP = "http-ntp"
        /// The value of the element itself.
        case direct
    }

    package let method: Method
    /// Addresses, or names of servers, in order of preference; HTTP addresses verbatim, relative to the MPD.
    package let servers: [String]
    /// The time in the element itself.
    package let time: Instant?

    /// Reads an element; nil for an unknown scheme, or if required content is missing.
    package init?(_ descriptor: MPDDescriptor) {
        let parts = descriptor.scheme.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "urn", parts[1] == "mpeg", parts[2] == "dash", parts[3] == "utc",
            let method = Method(rawValue: String(parts[4])), parts[5] == "2012" || parts[5] == "2014"
        else { return nil }
        self.method = method
        guard let value = descriptor.value.map(MPDText.trimmed), !value.isEmpty else { return nil }
        if method == .direct {
            guard let time = Self.instant(value) else { return nil }
            self.time = time
            servers = []
        } else {
            time = nil
            servers = value.split(whereSeparator: \.isWhitespace).map(String.init)
        }
    }

    /// Reads the time in a response's body.
    ///
    /// - Parameter body: at most 1,024 bytes.
    /// - Returns: nil if the body has none, and for methods with the time elsewhere.
    package func time(inBody body: [UInt8]) -> Instant? {
        guard body.count <= 1024 else { return nil }
        switch method {
        case .httpDate, .httpISO: return Self.instant(MPDText.trimmed(String(decoding: body, as: UTF8.self)))
        case .httpNTP:
            guard body.count == 8 else { return nil }
            let bytes = body.rawSpan
            var seconds = Int64(bytes.u32(at: 0))
            // of the two possible eras, the one from 1968 to 2104 (RFC 4330 §3)
            if seconds < 1 << 31 { seconds += 1 << 32 }
            let milliseconds = (Int64(bytes.u32(at: 4)) * 1000) >> 32
            return Instant(milliseconds: (seconds - 2_208_988_800) * 1000 + milliseconds)
        case .ntp, .sntp, .httpHead, .direct: return nil
        }
    }

    private static func instant(_ text: String) -> Instant? { Instant.parse(text) ?? Instant.parse(text + "Z") }
}

extension MPD {
    /// The ways to learn the time that are known, in the order of preference.
    package var clocks: [MPDClock] { utcTimings.compactMap { MPDClock($0) } }
}
