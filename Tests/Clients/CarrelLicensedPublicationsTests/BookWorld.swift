// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelHTTPClient
import CarrelLicensedPublications
import CarrelMP4
import CarrelPlayer
import CarrelPlayerTesting
import CarrelPublication
import CarrelRights
import CarrelTesting
import CarrelTokens
import ProtectedPublications
import Testing

/// A server, a player, and protected books.
struct BookWorld {
    let world: PlayerWorld
    let engine: PlayerEngine

    static let content = "cid:book@example"
    static let kid = CarrelRights.KeyID(label: "book")
    static let key = Secret([UInt8](1...16))

    init() async throws {
        world = try await PlayerWorld()
        engine = try await world.player()
    }

    /// A book of some chapters with a picture of 200 KB.
    static func epub(chapters: Int = 3) async throws -> [UInt8] {
        let directory = TemporaryDirectory()
        let path = directory.file("book.epub")
        _ = try await ProtectedPublication.epub(at: path, chapters: chapters)
        return try #require(directory.read("book.epub"))
    }

    static let pdf = TestPDF(words: ["First words", "Second words"]).bytes

    /// A protected file.
    static func dcf(
        _ clear: [UInt8],
        type: String = "application/epub+zip",
        content: String = content,
        cipher: DCFCipher = .counter,
        key: Secret = key,
        title: String = "The title outside",
        silent: String? = nil,
        isTagged: Bool = true
    ) throws -> [UInt8] {
        let vector = Random.bytes(16)
        var writer = try DCFWriter(DCFMemorySink()) { AESBlock(vector.rawSpan) ?? AESBlock(high: 1, low: 0) }
        var textual = [DCFTextualHeader("Content-Name", title)]
        if let silent { textual.append(DCFTextualHeader("Silent", "on-demand;\(silent)")) }
        let headers = DCFHeaders(cipher: cipher, contentID: content, textual: textual)
        try writer.write(BytesReader(clear), contentType: type, headers, key: key, isTagged: isTagged && cipher != .none)
        return try writer.finish(nil).bytes
    }

    /// Writes a file of the world's folder. Returns its path.
    func write(_ name: String, _ bytes: [UInt8]) -> String {
        world.directory.write(name, bytes)
        return world.directory.file(name)
    }

    /// A token for a license of a book.
    func token(
        content: String = content,
        kid: CarrelRights.KeyID = kid,
        key: Secret = key,
        _ change: (inout BusinessRules) -> Void = { _ in }
    ) async throws -> String {
        try await world.action { rules in
            rules.contents = [.init(contentID: content, keyID: kid, key: key)]
            rules.extensions = [.init(type: "wudo", isCritical: false, payload: [0, 0, 0, 0])]
            change(&rules)
        }
    }

    /// Redeems a token. Returns the id of the license.
    @discardableResult
    func license(
        content: String = content,
        kid: CarrelRights.KeyID = kid,
        key: Secret = key,
        _ change: (inout BusinessRules) -> Void = { _ in }
    ) async throws -> String {
        try await engine.process(try await token(content: content, kid: kid, key: key, change)).license
    }

    func plays(_ license: String) async throws -> Int { try #require(try await engine.licenses().license(license)).plays }

    /// Opens a publication.
    func open(
        _ asset: PublicationAsset,
        obligations: Set<String> = LicensedContentProtection.shownRights,
        credentials: String? = nil,
        client: HTTPClient? = nil,
        silentLimit: Duration? = nil,
        warnings: WarningList? = nil
    ) async throws(Publication.OpeningError) -> Publication {
        let engine = engine
        let protection = LicensedContentProtection(
            obligations: obligations,
            client: client,
            silentLimit: silentLimit,
            clock: world.clock
        ) { engine }
        return try await Streamer(contentProtections: [protection]).open(
            asset: asset,
            allowUserInteraction: false,
            credentials: credentials,
            warnings: warnings
        )
    }

    func open(_ path: String, credentials: String? = nil) async throws(Publication.OpeningError) -> Publication {
        try await open(PublicationAsset(path: path), credentials: credentials)
    }
}

/// Waits up to two seconds for what the end of a license brings about.
func withinTwoSeconds(_ holds: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(2)
    while ContinuousClock.now < deadline {
        if try await holds() { return true }
        try await Task.sleep(for: .milliseconds(20))
    }
    return try await holds()
}

/// The error of a read.
func failure(_ body: () async throws -> Void) async -> ResourceError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? ResourceError
    }
}
