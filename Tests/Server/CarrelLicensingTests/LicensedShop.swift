// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelKeyStore
import CarrelCrypto
import CarrelDCF
import CarrelHTTP
import CarrelJSON
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import CarrelTokens
import Testing

/// A service with an EPUB of several blocks, and its protected file.
struct LicensedShop {
    let test: TestService
    static let product = "com.example.book"
    static let path = "/editions/com.example.book/-/licensed.dcf"

    init(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws {
        test = try await TestService {
            $0.stream.publicURL = "https://books.example.org"
            configure(&$0)
        }
        try await put(1)
    }

    /// An EPUB of about 200 KiB.
    static func epub(_ version: UInt8) -> [UInt8] {
        EditionFiles.epub([.init("OEBPS/a.bin", bytes: (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) ^ version })])
    }

    /// Ingests contents of the product.
    @discardableResult
    func put(_ version: UInt8, _ licensed: Edition.Licensed? = nil) async throws -> Edition {
        let file = test.directory.write("book\(version).epub", Self.epub(version))
        return try await test.ingest(file, Self.product) { $0.licensed = licensed }.edition
    }

    @discardableResult
    func set(_ licensed: String) async throws -> (status: Int, json: JSON) {
        try await test.call(
            .patch,
            "/admin/v1/editions/\(Self.product)",
            body: ["licensed": .string(licensed)],
            peer: .local(userID: 0)
        )
    }

    var edition: Edition {
        get async throws { try await test.service.editions.find(Self.product) }
    }

    /// The protected file, whole.
    func download(_ headers: HTTPFields = [:], from service: CarrelService? = nil) async throws -> Download {
        let request = HTTPRequest(.get, Self.path, headers: headers, peer: .network(address: "192.0.2.1", port: 1))
        let response = await (service ?? test.service).router.respond(to: request)
        return Download(
            status: response.status.rawValue,
            headers: response.headers,
            body: try await response.body.collect(upTo: 64 << 20)
        )
    }

    struct Download {
        let status: Int
        let headers: HTTPFields
        let body: [UInt8]

        /// The object, read as a player reads it.
        var object: DCFObject {
            get throws {
                var scan = DCFScan(length: Int64(body.count))
                while let range = scan.wanted {
                    let bytes = Array(body[Int(range.lowerBound)..<Int(range.upperBound)])
                    try scan.take(bytes.rawSpan)
                }
                return try #require(try scan.finish().objects.first)
            }
        }

        /// The id of the key that the file names.
        var keyID: KeyID {
            get throws { try #require(KeyID(hex: try object.headers.contentID.dropFirst(4))) }
        }

        /// The contents, after every tag was checked.
        func open(_ key: Secret) throws -> [UInt8] {
            let object = try object
            let table = try #require(object.tags)
            let head = Array(body[Int(table.head.lowerBound)..<Int(table.head.upperBound)])
            let check = PayloadTagCheck(object.payload, key: key, headDigest: SHA256.hash(head.rawSpan))
            let blocks = 0..<check.blockCount
            let (data, tags) = (check.range(of: blocks), table.range(of: blocks))
            let encrypted = Array(body[Int(data.lowerBound)..<Int(data.upperBound)])
            let tagBytes = Array(body[Int(tags.lowerBound)..<Int(tags.upperBound)])
            try check.verify(blocks, encrypted.rawSpan, tags: tagBytes.rawSpan)
            return try object.payload.decrypt(encrypted, holding: 0..<Int64(encrypted.count), key: key)
        }
    }

    // MARK: Tokens and licenses

    func ask(_ change: (inout JSONObject) -> Void = { _ in }) async throws -> (status: Int, json: JSON) {
        var body: JSONObject = ["title": .string(try await edition.title.id)]
        change(&body)
        return try await test.call(.post, "/admin/v1/tokens", body: .object(body), peer: .local(userID: 0))
    }

    /// A new token's action token and license message, for `/v1/license`.
    func forms(_ change: (inout JSONObject) -> Void = { _ in }) async throws -> (sealed: String, message: String, json: JSON) {
        let answer = try await ask(change)
        try #require(answer.status == 200, "\(answer)")
        let xml = Array((answer.json["bb"]?.string ?? "").utf8)
        let action = try ActionToken(parsing: xml.rawSpan)
        return (Base64URL.encode(action.businessToken), answer.json["jwt"]?.string ?? "", answer.json)
    }

    func license(
        for player: TestPlayer.Personalized,
        _ change: (inout JSONObject) -> Void = { _ in }
    ) async throws -> License {
        let token = try await forms(change).sealed
        return try #require(try await redeem(token, by: player).license)
    }

    func redeem(_ token: String, by player: TestPlayer.Personalized, as session: KeyRequest.Session = .persist) async throws -> (
        license: License?, problem: String?
    ) {
        try await player.send(try await player.request(session, of: test, token: token), to: test)
    }

    func key(_ id: KeyID, of license: License, by player: TestPlayer.Personalized) async throws -> Secret {
        let agreement = player.player.agreement
        return try await license.open(id) { agreement.sharedSecret(with: $0) }
    }

    func keyID(_ number: Int) async throws -> KeyID {
        TitleContent.keyID(ofTitle: try await edition.title.id, number: number)
    }
}
