// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelJSON
import CarrelStore

/// A key of an item that was saved for use without a network.
package struct SavedKeyRow: Sendable {
    /// The origin of a key.
    package enum Kind: String, Sendable, CaseIterable {
        /// The server of a key line's URL.
        case server
        /// The key route of an order, which names the end of the order.
        case order
        /// A license server of ClearKey.
        case clearKey = "clear-key"
        /// A license in this store, which has the key and its terms.
        case license
    }

    /// The key's name in the media, as text that names its kind too.
    package let name: String
    package let kind: Kind
    /// The key; nil if a license has it.
    package var key: Secret?
    /// The license that has the key; nil for other kinds.
    package var license: String?
    /// When the key ends; nil if it does not, or if a license states its terms.
    package var until: Instant?
    /// When its end is requested again; nil if it is not.
    package var renewAt: Instant?
    /// The address that the key is requested from; it may contain a ticket. Nil if a license has it.
    package var url: String?

    /// - Parameters:
    ///   - name: the key's name in the media.
    ///   - kind: its origin.
    ///   - key: the key; nil if a license has it.
    ///   - license: the license that has it.
    ///   - until: when it ends; nil if it does not.
    ///   - renewAt: when its end is requested again; nil if it is not.
    ///   - url: the address that it is requested from.
    package init(
        name: String,
        kind: Kind,
        key: Secret? = nil,
        license: String? = nil,
        until: Instant? = nil,
        renewAt: Instant? = nil,
        url: String? = nil
    ) {
        self.name = name
        self.kind = kind
        self.key = key
        self.license = license
        self.until = until
        self.renewAt = renewAt
        self.url = url
    }

    /// Keys of one item, at most.
    package static let limit = 1 << 16

    /// Finds a name of an item without being readable in the file.
    static func digest(_ name: String, _ item: String, _ seal: RowSeal) -> [UInt8] { seal.digest("saved key \(item)", name) }

    static func place(_ item: String, _ digest: [UInt8]) -> String { "saved key \(item) \(Hex.encode(digest))" }

    /// The columns `item, name, sealed, secret, license`.
    func values(ofItem item: String, _ seal: RowSeal) throws(PlayerError) -> [SQLValue] {
        let digest = Self.digest(name, item, seal)
        let place = Self.place(item, digest)
        var object: JSONObject = ["name": .string(name), "kind": .string(kind.rawValue)]
        object["until"] = until.map { .integer($0.milliseconds) }
        object["renewAt"] = renewAt.map { .integer($0.milliseconds) }
        object["url"] = url.map { .string($0) }
        object["license"] = license.map { .string($0) }
        let sealed = try seal.seal(.object(object), at: place)
        var secret = SQLValue.null
        if let key { secret = .blob(try seal.seal(key, at: place + " secret")) }
        return [.text(item), .blob(digest), .blob(sealed), secret, license.map { .text($0) } ?? .null]
    }

    /// Reads the columns `name, sealed, secret, license` of an item.
    ///
    /// - Throws: `player.store-damaged`, `store.…`.
    init(_ row: Row, ofItem item: String, _ seal: RowSeal) throws {
        let place = Self.place(item, try row.blob(0))
        let json = try seal.open(try row.blob(1), at: place)
        guard let name = json["name"]?.string, let kind = json["kind"]?.string.flatMap({ Kind(rawValue: $0) }),
            try Self.digest(name, item, seal) == row.blob(0)
        else { throw RowSeal.damaged }
        let secret = try row.blobIfPresent(2)
        let license = json["license"]?.string
        // the column of the license is not sealed
        guard try row.textIfPresent(3) == license, (kind == .license) == (license != nil), (kind == .license) == (secret == nil)
        else { throw RowSeal.damaged }
        self.init(
            name: name,
            kind: kind,
            key: try secret.map { try seal.openSecret($0, at: place + " secret") },
            license: license,
            until: json["until"]?.int.map { Instant(milliseconds: Int64($0)) },
            renewAt: json["renewAt"]?.int.map { Instant(milliseconds: Int64($0)) },
            url: json["url"]?.string
        )
    }
}
