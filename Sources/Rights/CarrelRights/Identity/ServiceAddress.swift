// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The start of a hierarchical URL (RFC 3986 §3): scheme and authority, checked; the remainder is unchanged.
package struct ServiceAddress {
    /// In lower case.
    package let scheme: String
    /// Everything after `://`.
    package let rest: String
    /// The host in lower case, an IPv6 address without its brackets.
    package let host: String

    /// Returns nil unless all characters are visible ASCII, there is a scheme and a host but no user information, and a port is a
    /// number from 1 to 65,535.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }), let mark = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return nil
        }
        let scheme = text[..<mark].lowercased()
        let tail = text[mark...]
        guard scheme.utf8.first.map(Self.isLetter) == true, scheme.utf8.allSatisfy({ Self.isLetter($0) || Self.isDigit($0) }),
            tail.utf8.starts(with: "://".utf8)
        else { return nil }
        let rest = tail.dropFirst(3)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let host = Self.host(String(authority)) else { return nil }
        self.scheme = scheme
        self.rest = String(rest)
        self.host = host
    }

    /// Whether a service may be reached there: by TLS, or on this machine.
    package var isTrustworthy: Bool {
        scheme == "https" || (scheme == "http" && (host == "localhost" || IPAddress(host)?.isLoopback == true))
    }

    private static func host(_ authority: String) -> String? {
        let host: Substring
        let port: Substring
        if authority.utf8.first == UInt8(ascii: "[") {
            guard let end = authority.utf8.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = authority[..<end].dropFirst()
            port = authority[end...].dropFirst()
            guard host.utf8.contains(UInt8(ascii: ":")), IPAddress(host) != nil else { return nil }
        } else {
            let mark = authority.utf8.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
            host = authority[..<mark]
            port = authority[mark...]
            guard 1...253 ~= host.utf8.count, host.utf8.allSatisfy(isHostCharacter) else { return nil }
        }
        guard port.isEmpty || isPort(port) else { return nil }
        return host.lowercased()
    }

    /// A colon and a number.
    private static func isPort(_ text: Substring) -> Bool {
        let digits = text.dropFirst()
        guard text.utf8.first == UInt8(ascii: ":"), 1...5 ~= digits.utf8.count, digits.utf8.allSatisfy(isDigit) else {
            return false
        }
        return Int(digits).map { 1...65_535 ~= $0 } ?? false
    }

    private static func isHostCharacter(_ c: UInt8) -> Bool {
        isLetter(c) || isDigit(c) || c == UInt8(ascii: "-") || c == UInt8(ascii: ".") || c == UInt8(ascii: "_")
    }

    private static func isLetter(_ c: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= c || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= c
    }

    private static func isDigit(_ c: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= c }
}
