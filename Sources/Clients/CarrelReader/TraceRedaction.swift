// SPDX-License-Identifier: Apache-2.0

/// Redacts possible secrets in text.
///
/// Random bits are distinguished from words by their form: more than 20 consecutive characters of base 64, hex and
/// percent-encoding, with a digit or a capital letter among them. 128 bits have 22 characters of base 64 or 32 hex digits.
enum TraceRedaction {
    /// The replacement of a secret.
    private static let mark = "***"
    private static let longestWord = 20
    private static let longestName = 64

    /// A name without runs that could be a secret.
    static func name(_ name: String) -> String {
        var out: [UInt8] = []
        var run: [UInt8] = []
        func end() {
            out += couldBeSecret(run) ? Array(mark.utf8) : run
            run = []
        }
        // all of it, so that a run is not cut to a harmless length
        for byte in name.utf8 {
            if isOfToken(byte) {
                run.append(byte)
            } else {
                end()
                out.append(byte)
            }
        }
        end()
        return String(decoding: out.prefix(longestName), as: UTF8.self)
    }

    /// An address without user name, password, query, fragment and segments that could be a secret.
    static func url(_ url: String) -> String {
        let bare = url.prefix { $0 != "?" && $0 != "#" }
        if bare.hasPrefix("//") { return place(bare) }
        guard let colon = bare.utf8.firstIndex(of: UInt8(ascii: ":")), isScheme(bare[..<colon]) else { return path(bare) }
        let scheme = bare[..<colon].lowercased()
        let rest = bare[bare.utf8.index(after: colon)...]
        guard ["http", "https"].contains(scheme), rest.hasPrefix("//") else { return "\(scheme):\(mark)" }
        return "\(scheme):\(place(rest))"
    }

    /// Host, port and path, with the slashes before them.
    private static func place(_ text: Substring) -> String {
        let place = text.dropFirst(2)
        let authority = place.prefix { $0 != "/" }
        // A password may contain an unescaped @. Programs treat a backslash differently.
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return "//\(host.contains("\\") ? mark : name(String(host)))\(path(place[authority.endIndex...]))"
    }

    /// A path, of a reference too; parameters of segments (RFC 3986 §3.3) are left out.
    private static func path(_ path: Substring) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false)
            .map { segment in
                let plain = segment.prefix { $0 != ";" }
                let shown = plain.utf8.count > longestName ? mark : name(String(plain))
                return plain.endIndex == segment.endIndex ? shown : shown + ";" + mark
            }
            .joined(separator: "/")
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy {
            isLetter($0) || isDigit($0) || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains($0)
        }
    }

    private static func couldBeSecret(_ run: [UInt8]) -> Bool {
        run.count > longestWord && run.contains { isDigit($0) || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
    }

    private static func isOfToken(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "+/=_-%~".utf8.contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }
}
