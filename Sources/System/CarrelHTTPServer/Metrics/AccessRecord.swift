// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHTTP

/// The access log's record of one request. Query values, header fields and secret path parameters are not in it.
package struct AccessRecord: Sendable {
    /// When the request's line had come.
    package let time: Instant
    package let id: String
    package let peer: Peer
    /// The method as sent.
    package let method: String
    /// The route's pattern; nil if there was none, or when the request was refused before routing.
    package let route: String?
    /// The path with `*` for secret parameters; `-` when no route knows it.
    package let path: String
    /// 499 when the client hung up before the answer, 400 when the parser refused the request before we saw it.
    package let status: HTTPStatus
    /// Bytes of the body that were handed to the kernel or made for it.
    package let bytes: Int
    /// From the request's line to the last byte handed to the kernel.
    package let duration: Duration
    /// Whether the response left whole.
    package let isWhole: Bool

    /// The record as one line of JSON, without the line feed.
    package var json: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends ``json``.
    package func write(to out: inout [UInt8]) {
        out += "{\"time\":\"".utf8
        out += time.description.utf8
        out += "\",\"id\":".utf8
        Self.append(id, to: &out)
        out += ",\"peer\":".utf8
        Self.append(peer.description, to: &out)
        out += ",\"method\":".utf8
        Self.append(method, to: &out)
        out += ",\"path\":".utf8
        Self.append(path, to: &out)
        out += ",\"route\":".utf8
        if let route { Self.append(route, to: &out) } else { out += "null".utf8 }
        out += ",\"status\":".utf8
        Self.append(status.rawValue, digits: 1, to: &out)
        out += ",\"bytes\":".utf8
        Self.append(bytes, digits: 1, to: &out)
        out += ",\"ms\":".utf8
        let (seconds, attoseconds) = duration.components
        let microseconds = Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
        Self.append(microseconds / 1000, digits: 1, to: &out)
        out.append(UInt8(ascii: "."))
        Self.append(microseconds % 1000, digits: 3, to: &out)
        if !isWhole { out += ",\"whole\":false".utf8 }
        out.append(UInt8(ascii: "}"))
    }

    private static func append(_ text: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for c in text.utf8 {
            switch c {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                out.append(UInt8(ascii: "\\"))
                out.append(c)
            case 0..<0x20, 0x7f: out.append(UInt8(ascii: "?"))
            default: out.append(c)
            }
        }
        out.append(UInt8(ascii: "\""))
    }

    /// Appends a number from 0, with zeros before it up to that many digits.
    private static func append(_ number: Int, digits: Int, to out: inout [UInt8]) {
        var (remainder, divisor, count) = (max(0, number), 1, 1)
        while remainder / divisor >= 10 || count < digits { (divisor, count) = (divisor * 10, count + 1) }
        while divisor > 0 {
            out.append(UInt8(ascii: "0") + UInt8(remainder / divisor))
            remainder %= divisor
            divisor /= 10
        }
    }
}
