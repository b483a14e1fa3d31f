// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// Fonts whose first bytes are obscured with a public key: not a protection, and so always undone.
struct FontObfuscation: Sendable {
    private let key: [UInt8]
    private let length: Int64

    private static let idpf = "http://www.idpf.org/2008/embedding"
    private static let adobe = "http://ns.adobe.com/pdf/enc#RC"
    /// The URIs of `encryption.xml` that mean no more than that.
    static let algorithms: Set<String> = [idpf, adobe]

    /// - Parameters:
    ///   - algorithm: the URI of `encryption.xml`.
    ///   - identifier: the package's unique identifier. Nil for other algorithms, and if the key cannot be derived.
    init?(algorithm: String, identifier: String?) {
        guard let identifier else { return nil }
        switch algorithm {
        // EPUB 3.3 §4.4: SHA-1 of the identifier without white space
        case Self.idpf:
            let bytes = Array(identifier.filter { !$0.isWhitespace }.utf8)
            key = SHA1.hash(bytes.rawSpan)
            length = 1040
        // the bytes of the UUID
        case Self.adobe:
            let digits = (identifier.lowercased().hasPrefix("urn:uuid:") ? identifier.dropFirst(9) : identifier[...]).filter {
                $0 != "-"
            }
            guard let bytes = Hex.decode(digits), bytes.count == 16 else { return nil }
            key = bytes
            length = 1024
        default: return nil
        }
    }

    /// The font as it was.
    func clear(_ resource: any Resource) -> any Resource { ClearedFont(resource, key, length) }

    private final class ClearedFont: Resource {
        var link: Link { resource.link }
        private let resource: any Resource
        private let key: [UInt8]
        private let count: Int64

        init(_ resource: any Resource, _ key: [UInt8], _ count: Int64) {
            self.resource = resource
            self.key = key
            self.count = count
        }

        func length() async throws(ResourceError) -> Int64 { try await resource.length() }

        func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
            let before = buffer.count
            try await resource.read(range, into: &buffer)
            for i in before..<buffer.count {
                let at = range.lowerBound + Int64(i - before)
                if at >= count { return }
                buffer[i] ^= key[Int(at) % key.count]
            }
        }

        func close() { resource.close() }
    }
}

extension Encryption {
    /// Whether it only obscures a font (EPUB 3.3 §4.4).
    package var isFontObfuscation: Bool { FontObfuscation.algorithms.contains(algorithm) }
}
