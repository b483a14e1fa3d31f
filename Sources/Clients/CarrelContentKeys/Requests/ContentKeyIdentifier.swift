// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelLicenseKeys
public import CarrelMedia
import CarrelRights

/// One key of a stream, by the names that its playlists, manifest and media have for it.
public struct ContentKeyIdentifier: Sendable, Hashable, CustomStringConvertible {
    /// The names of the key, the best first; not empty.
    public let names: [ContentKeyName]

    /// Creates an identifier.
    ///
    /// - Parameter names: the names of one key, the best first; nil without a name.
    public init?(_ names: [ContentKeyName]) {
        guard !names.isEmpty else { return nil }
        self.names = names
    }

    /// Creates the identifier of a key with one name.
    ///
    /// - Parameter name: the name.
    public init(_ name: ContentKeyName) { names = [name] }

    /// Reads an identifier as a playlist, a manifest or a license writes it.
    ///
    /// - Parameter text: a key ID of 32 hexadecimal digits or as a UUID, `skd://KID:IV`, the address of a key, or a content ID such as
    ///   `urn:marlin:kid:…`. Nil for empty text.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        let digits = text.filter { $0 != "-" }
        if digits.utf8.count == 32, let id = Hex.decode(digits) {
            self.init(.id(id))
        } else if URIReference(text).authority != nil {
            self.init(.address(text))
        } else {
            self.init(.content(text))
        }
    }

    /// The key ID, 32 lower-case hexadecimal digits; nil if no name has one.
    public var keyID: String? {
        for name in names {
            switch name {
            case .id(let bytes) where bytes.count == 16: return Hex.encode(bytes)
            case .content(let text), .group(let text): if let id = KeyNames.keyID(in: text) { return id }
            case .address(let text):
                if let skd = FairPlayKeyAddress(text) { return skd.keyID }
                if let offline = OfflineKeyAddress(text) { return offline.keyID.hex }
            default: continue
            }
        }
        return nil
    }

    /// The key as errors and traces show it: its ID, else its content ID, else the address without ticket and query.
    public var description: String {
        if let keyID { return keyID }
        switch names[0] {
        case .id(let bytes): return Hex.encode(bytes)
        case .content(let text): return text
        case .group(let text): return text.isEmpty ? "the group key" : "group \(text)"
        case .track(let number): return "track \(number)"
        case .address(let text): return Self.shown(text)
        @unknown default: return "a key"
        }
    }

    /// Scheme, authority and file of an address: the segments between them may be tickets.
    private static func shown(_ address: String) -> String {
        let reference = URIReference(address)
        guard let scheme = reference.scheme, let authority = reference.authority else { return "the key of an address" }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let file = reference.path.split(separator: "/").last.map(String.init) ?? ""
        return
            "\(scheme)://\(host)/\(file.utf8.count > 20 ? "…" : reference.path.split(separator: "/").count > 1 ? "…/\(file)" : file)"
    }

    var addresses: [String] {
        names.compactMap { name in
            guard case .address(let text) = name else { return nil }
            return text
        }
    }

    /// The content IDs under which a license may have the key, the most specific first.
    var contents: [String] {
        var contents = names.compactMap { name -> String? in
            switch name {
            case .content(let text), .group(let text): text.isEmpty ? nil : text
            default: nil
            }
        }
        if let keyID { contents.append("urn:marlin:kid:\(keyID)") }
        return contents
    }
}

/// The address of a key that only Apple's module opens: `skd://KID:IV`.
public struct FairPlayKeyAddress: Sendable, Hashable {
    /// The content identifier of the key request: the address without its scheme.
    public let contentIdentifier: String
    /// The key ID, 32 lower-case hexadecimal digits; nil if the address has none.
    public let keyID: String?
    /// The initialization vector, 16 bytes; nil if the address has none.
    public let initializationVector: [UInt8]?

    private static let scheme = "skd://"

    /// Reads an address.
    ///
    /// - Parameter address: the address of a key line (`com.apple.streamingkeydelivery`); nil for other schemes.
    public init?(_ address: String) {
        guard address.prefix(Self.scheme.count).lowercased() == Self.scheme else { return nil }
        contentIdentifier = String(address.dropFirst(Self.scheme.count))
        let parts = contentIdentifier.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let digits = (parts.first ?? "").filter { $0 != "-" }
        keyID = digits.utf8.count == 32 ? Hex.decode(digits).map { Hex.encode($0) } : nil
        let vector = parts.count == 2 ? Hex.decode(parts[1]) : nil
        initializationVector = vector?.count == 16 ? vector : nil
    }
}
