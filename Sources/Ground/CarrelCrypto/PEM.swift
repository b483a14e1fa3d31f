// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Text around binary objects (RFC 7468).
enum PEM {
    /// The objects of a kind, in their order.
    ///
    /// - Parameters:
    ///   - label: the label, such as `CERTIFICATE`.
    ///   - bytes: a file, which may contain other objects too.
    /// - Returns: their DER; nil if an object is not closed or not base 64.
    static func objects(_ label: String, in bytes: [UInt8]) -> [[UInt8]]? {
        var objects: [[UInt8]] = []
        var body: String?
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            switch line {
            case "-----BEGIN \(label)-----": body = ""
            case "-----END \(label)-----":
                guard let der = body.flatMap({ Base64.decode($0) }) else { return nil }
                objects.append(der)
                body = nil
            default: body?.append(contentsOf: line)
            }
        }
        return body == nil ? objects : nil
    }

    /// An object as text, lines of 64 characters.
    static func text(_ label: String, _ der: [UInt8]) -> String {
        let body = Array(Base64.encode(der).utf8)
        let lines = stride(from: 0, to: body.count, by: 64).map { String(decoding: body[$0...].prefix(64), as: UTF8.self) }
        return "-----BEGIN \(label)-----\n" + lines.joined(separator: "\n") + "\n-----END \(label)-----\n"
    }
}
