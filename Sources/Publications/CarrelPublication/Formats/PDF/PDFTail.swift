// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The end of a PDF document, which declares encryption (ISO 32000-2 §7.5.5): read instead of the whole document.
enum PDFTail {
    private static let tailSize: Int64 = 8 << 10
    private static let headSize: Int64 = 64 << 10
    /// The budget for trying the empty password on the documents of a package, which are copied for it.
    struct Trials {
        var count = 16
        var bytes: Int64 = 8 << 20
    }

    /// Whether a document in a package has its own password.
    ///
    /// - Parameters:
    ///   - resource: the document; two small parts of it are read, and the whole document if they declare encryption.
    ///   - trials: the remaining budget.
    /// - Returns: false if the password is empty, because viewers open it without a prompt, and for other data; true for an
    ///   encrypted document if the budget is used up.
    /// - Throws: errors of reading.
    static func needsPassword(_ resource: any Resource, _ trials: inout Trials) async throws(ResourceError) -> Bool {
        guard try await saysEncrypted(resource) else { return false }
        let length = try await resource.length()
        guard trials.count > 0, length <= trials.bytes else { return true }
        trials.count -= 1
        trials.bytes -= length
        do throws(ResourceError) {
            guard let source = try await PDFSource(SingleResourceFetcher(resource)) else { return false }
            _ = try await source.encryption(password: "")
            return false
        } catch {
            switch error.code {
            case .decryption, .forbidden: return true
            case .malformed, .tooLarge: return false
            default: throw error
            }
        }
    }

    private static func saysEncrypted(_ resource: any Resource) async throws(ResourceError) -> Bool {
        let length = try await resource.length()
        let tail = String(decoding: try await resource.read(max(0, length - tailSize)..<length), as: UTF8.self)
        if let trailer = tail.ranges(of: "trailer").last, names(tail[trailer.upperBound...]) { return true }
        guard let start = tail.ranges(of: "startxref").last,
            let place = Int64(tail[start.upperBound...].drop { $0.isWhitespace }.prefix { $0.isASCII && $0.isNumber }),
            0..<length ~= place
        else { return false }
        // a table followed by its trailer, or a stream whose dictionary is the trailer
        let table = String(decoding: try await resource.read(place..<min(length, place + headSize)), as: UTF8.self)
        let end = table.hasPrefix("xref") ? table.firstRange(of: "startxref") : table.firstRange(of: "stream")
        return names(table[..<(end?.lowerBound ?? table.endIndex)])
    }

    /// Whether a dictionary has the key, and not a longer key with the same beginning.
    private static func names(_ text: Substring) -> Bool {
        text.ranges(of: "/Encrypt").contains { range in
            !(text[range.upperBound...].unicodeScalars.first?.properties.isAlphabetic ?? false)
        }
    }
}
