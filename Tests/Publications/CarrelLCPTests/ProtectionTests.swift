// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

@testable import CarrelLCP
@testable import CarrelPublication

@Suite("A publication protected by Readium LCP")
struct ProtectionTests {
    private let directory = TemporaryDirectory()
    private let clock = ManualClock(Instant(milliseconds: 1_795_000_000_000))  // 18 November 2026

    private func service(_ profiles: ProfileRegistry = ProfileRegistry()) throws -> LCPService {
        var configuration = LCPService.Configuration()
        configuration.profiles = profiles
        configuration.isOffline = true
        return LCPService(
            store: LCPStore(path: directory.file("lcp.sqlite")),
            passphrases: MemoryPassphraseStore(),
            configuration: configuration,
            clock: clock
        )
    }

    private func open(
        _ path: String,
        _ service: LCPService,
        passphrase: String? = nil,
        authentication: (any LCPAuthenticating)? = nil,
        allowUserInteraction: Bool = false,
        onAsk: OnAskCredentialsCallback? = nil
    ) async throws -> Publication {
        try await Streamer(contentProtections: [service.contentProtection(authentication)], onAskCredentials: onAsk)
            .open(asset: PublicationAsset(path: path), allowUserInteraction: allowUserInteraction, credentials: passphrase)
    }

    private func provider() async throws -> (LicenseProvider, ProfileRegistry) {
        let test = try await TestProvider()
        let certificate = test.certificates.directory.read("provider.der") ?? []
        let provider = LicenseProvider(certificate: certificate) { try await test.certificates.sign($0, with: "provider") }
        return (provider, try test.profiles)
    }

    private func book(
        _ provider: LicenseProvider,
        _ name: String = "book.epub",
        _ change: (inout LicenseProvider.Terms) -> Void = { _ in }
    ) async throws -> ProtectedPublication {
        var terms = LicenseProvider.Terms()
        change(&terms)
        return try await ProtectedPublication.epub(at: directory.file(name), chapters: 2, .lcp(provider, terms))
    }

    /// Answers one word after the other, and notes why it was asked.
    private final class Person: LCPAuthenticating {
        private let words: Locked<[String?]>
        let reasons = Locked<[LCPAuthenticatedLicense.Reason]>([])

        init(_ words: String?...) { self.words = Locked(words) }

        func requestPassphrase(license: LCPAuthenticatedLicense) async -> String? {
            reasons.withLock { $0.append(license.reason) }
            return words.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
    }

    @Test(arguments: FixtureOracles.publications)
    func `made by others is decrypted as an independent program decrypts it`(name: String) async throws {
        let oracle = try FixtureOracles()["publications", name]
        let service = try service()
        let publication = try await open(
            try Fixtures.path("readium/\(name)"),
            service,
            passphrase: try #require(oracle["passphrase"]?.string)
        )
        #expect(!publication.isRestricted, "\(String(describing: publication.protectionError))")
        #expect(publication.protectionName == "Readium LCP")
        let resources = try #require(oracle["resources"]?.object)
        for (path, expected) in resources {
            guard let digest = expected["plain_sha256"]?.string else { continue }
            let bytes = try await publication.get(path).read(upTo: 4 << 20)
            #expect(hexDigest(bytes) == digest, "\(path)")
            for (range, digest) in expected["range_sha256"]?.object ?? [:] {
                let ends = range.split(separator: ".").compactMap { Int64($0.filter(\.isNumber)) }
                let part = try await publication.get(path).read(ends[0]..<ends[1])
                #expect(hexDigest(part) == digest.string, "\(path) \(range)")
            }
        }
    }

    @Test(arguments: [
        ("wasteland-otf-obf_LCP_dan.epub", "application/epub+zip"), ("daisy-test.lcpdf", "application/webpub+zip"),
        ("audiotest.lcpa", "application/audiobook+zip"),
    ])
    func `without its passphrase shows what it is, and no more`(name: String, type: String) async throws {
        let publication = try await open(try Fixtures.path("readium/lcp/\(name)"), try service())
        #expect(publication.isRestricted)
        #expect((publication.protectionError as? Publication.OpeningError)?.code == .credentialsRequired)
        #expect(publication.format.mediaType.description == type)
        #expect(!publication.metadata.title.description.isEmpty)
        let canCopy = await publication.rights.canCopy
        #expect(!canCopy)
        let first = try #require(publication.readingOrder.first)
        await #expect(throws: ResourceError(.forbidden, "")) { try await publication.get(first).read(0..<1) }
        // a cover that is drawn of what stays closed is none
        for cover in publication.links(withRelation: "cover") where !cover.href.hasPrefix("~readium/") {
            let bytes = try await publication.get(cover).read(0..<16)
            #expect(bytes.count == 16)
        }
        #expect(publication.lcpLicense?.document.rights.end == nil)
    }

    @Test func `with an unregistered profile is closed without a prompt`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider)
        let zip = try requirePeer("zip")
        try await checkProcess(["mkdir", "-p", directory.file("META-INF")])
        directory.write("META-INF/license.lcpl", try Fixtures.bytes("readium/lcp/prod-profile-1.0.lcpl"))
        try await checkProcess([zip, "-q", made.path, "META-INF/license.lcpl"], directory: directory.path)
        let person = Person("open sesame")
        let publication = try await open(
            made.path,
            try service(profiles),
            passphrase: "open sesame",
            authentication: person,
            allowUserInteraction: true
        )
        #expect((publication.protectionError as? Publication.OpeningError)?.code.identifier == "lcp.profile")
        #expect(person.reasons.withLock { $0.isEmpty })
    }

    @Test func `asks for the passphrase until it is right`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider)
        let person = Person("", "open sesam", "open sesame")
        let service = try service(profiles)
        let publication = try await open(made.path, service, authentication: person, allowUserInteraction: true)
        #expect(!publication.isRestricted)
        #expect(person.reasons.withLock { $0 } == [.passphraseNotFound, .invalidPassphrase, .invalidPassphrase])
        let text = try await publication.get("OEBPS/chapter-1.xhtml").read(upTo: 1 << 20)
        #expect(text == ProtectedPublication.chapter(1))
        // what unlocked it is a digest, and unlocks it again
        let credentials = try #require(publication.credentials)
        #expect(credentials == hexDigest(Array("open sesame".utf8)))
        let again = try await open(made.path, try self.service(profiles), passphrase: credentials)
        #expect(!again.isRestricted)
    }

    @Test func `asks no further when the same wrong words come again`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider)
        let person = Person("wrong", "wrong", "open sesame")
        let publication = try await open(made.path, try service(profiles), authentication: person, allowUserInteraction: true)
        #expect((publication.protectionError as? Publication.OpeningError)?.code == .incorrectCredentials)
        #expect(person.reasons.withLock { $0.count } == 2)
    }

    @Test func `stops prompting after all callers have canceled`() async throws {
        let (provider, profiles) = try await provider()
        let license = try UnverifiedLicense(try #require(try await book(provider).license))
        let asked = Locked(0)
        let opening = LicenseOpening(service: try service(profiles), credentials: nil) { _ in
            unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            return count < 4 ? "wrong \(count)" : nil
        }
        let outcome = await Task { await opening.open(license) }.value
        guard case .failure(let error) = outcome.unlocked else { return #expect(Bool(false), "it is open") }
        #expect(error.code == .cancelled)
        #expect(asked.withLock { $0 } == 1)
    }

    @Test(arguments: ["content_key", "user_key"])
    func `with keys encrypted unlike its profile is closed without a prompt`(member: String) async throws {
        let provider = try await TestProvider()
        var document = try provider.unsigned()
        var encryption = try #require(document["encryption"]?.object)
        var key = try #require(encryption[member]?.object)
        key["algorithm"] = "http://www.w3.org/2001/04/xmlenc#tripledes-cbc"
        encryption[member] = .object(key)
        document["encryption"] = .object(encryption)
        let license = try UnverifiedLicense(try await provider.sign(document))
        let asked = Locked(0)
        let opening = LicenseOpening(service: try service(try provider.profiles), credentials: nil) { _ in
            asked.withLock { $0 += 1 }
            return nil
        }
        let outcome = await opening.open(license)
        guard case .failure(let error) = outcome.unlocked else { return #expect(Bool(false), "it is open") }
        #expect(error.code == .unsupportedProfile)
        #expect(asked.withLock { $0 } == 0)
    }

    @Test func `stays closed, but is not reported as damaged, when the user gives no passphrase`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider)
        let person = Person("wrong", nil)
        let publication = try await open(made.path, try service(profiles), authentication: person, allowUserInteraction: true)
        #expect((publication.protectionError as? Publication.OpeningError)?.code == .cancelled)
        #expect(publication.metadata.title.description.isEmpty == false)
    }

    @Test func `prompts only if allowed`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider)
        let person = Person("open sesame")
        let service = try service(profiles)
        for (passphrase, code) in [(nil, Publication.OpeningError.Code.credentialsRequired), ("wrong", .incorrectCredentials)] {
            let publication = try await open(made.path, service, passphrase: passphrase, authentication: person)
            #expect((publication.protectionError as? Publication.OpeningError)?.code == code)
        }
        #expect(person.reasons.withLock { $0.isEmpty })
    }

    @Test func `asks by the streamer's dialog where the app brings no other, with the provider's hint`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider)
        let dialogs = Locked<[Dialog<String>]>([])
        let publication = try await open(made.path, try service(profiles), allowUserInteraction: true) { dialog, _ in
            dialogs.withLock { dialogs in
                dialogs.append(dialog)
                return dialogs.count == 1 ? "wrong" : "open sesame"
            }
        }
        #expect(!publication.isRestricted)
        #expect(dialogs.withLock { $0.map(\.hint) } == ["What Ali Baba said", "What Ali Baba said"])
        #expect(dialogs.withLock { $0.map(\.message) }.count == 2)
    }

    @Test func `cannot command the terminal that asks, by its name or its provider's words`() {
        let bad = "a\u{1b}[2Jb\r\u{9b}c\u{202e}d\n"
        let text = TerminalDialog.text(Dialog(title: LocalizedString(bad), message: LocalizedString(bad), hint: bad))
        #expect(text == "a[2Jbcd\na[2Jbcd\nHint: a[2Jbcd\n> ")
    }

    @Test func `opens without a question when the passphrase is known from another of the same user`() async throws {
        let (provider, profiles) = try await provider()
        let service = try service(profiles)
        _ = try await open(try await book(provider, "a.epub").path, service, passphrase: "open sesame")
        let other = try await book(provider, "b.epub") { terms in
            terms.id = "another license"
            terms.provider = "https://other.example"
        }
        #expect(try await !open(other.path, service).isRestricted)
        let foreign = try await book(provider, "c.epub") { $0.passphrase = "something else" }
        #expect(try await open(foreign.path, service).isRestricted)
    }

    @Test func `that was changed after it was signed is closed`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider) { $0.rights = #"{"end":"2026-11-01T00:00:00Z"}"# }
        var license = try #require(made.license)
        license.replace("2026-11-01T00:00:00Z", with: "2036-11-01T00:00:00Z")
        var asset = PublicationAsset(path: made.path)
        asset.license = license
        let publication = try await Streamer(contentProtections: [try service(profiles).contentProtection()])
            .open(asset: asset, allowUserInteraction: false, credentials: "open sesame")
        #expect((publication.protectionError as? Publication.OpeningError)?.code.identifier == "lcp.signature")
        await #expect(throws: LCPError(.notOffered, "")) { try await publication.lcpLicense?.renew() }
    }

    @Test func `whose license cannot be read is closed`() async throws {
        let (provider, profiles) = try await provider()
        var asset = PublicationAsset(path: try await book(provider).path)
        asset.license = Array("{}".utf8)
        let publication = try await Streamer(contentProtections: [try service(profiles).contentProtection()])
            .open(asset: asset, allowUserInteraction: false)
        #expect((publication.protectionError as? Publication.OpeningError)?.code.identifier == "lcp.license")
        #expect(publication.lcpLicense == nil)
    }

    @Test func `is open between the times of its license, both included`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider) { $0.rights = #"{"end":"2026-12-01T00:00:00Z","start":"2026-11-20T00:00:00Z"}"# }
        let cases = [
            ("2026-11-19T23:59:59.999Z", "lcp.not-started"), ("2026-11-20T00:00:00Z", nil), ("2026-12-01T00:00:00Z", nil),
            ("2026-12-01T00:00:00.001Z", "lcp.expired"),
        ]
        for (time, code) in cases {
            clock.set(try #require(Instant.parse(time)))
            let publication = try await open(made.path, try service(profiles), passphrase: "open sesame")
            #expect((publication.protectionError as? Publication.OpeningError)?.code.identifier == code, "\(time)")
        }
    }

    @Test func `defect 6: is copied and printed as far as its license goes, however often it is opened`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider) { $0.rights = #"{"copy":10,"print":2}"# }
        var rights = try await open(made.path, try service(profiles), passphrase: "open sesame").rights
        var answers = [
            await rights.canCopy("0123456789"), await rights.canCopy("0123456789A"), await rights.canPrint(pageCount: 3),
        ]
        #expect(answers == [true, false, false])
        answers = [await rights.copy("01234567"), await rights.print(pageCount: 1)]
        #expect(answers == [true, true])
        rights = try await open(made.path, try service(profiles), passphrase: "open sesame").rights
        answers = [await rights.copy("012"), await rights.copy("01"), await rights.canCopy, await rights.canPrint(pageCount: 1)]
        #expect(answers == [false, true, false, true])
        let free = try await book(provider, "free.epub") { $0.id = "free" }
        let all = try await open(free.path, try service(profiles), passphrase: "open sesame").rights
        answers = [await all.copy(String(repeating: "x", count: 100_000)), await all.print(pageCount: 1000)]
        #expect(answers == [true, true])
    }

    @Test func `says how many characters and pages are left, and nil where there is no limit`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider) { $0.rights = #"{"copy":10,"print":2}"# }
        let service = try service(profiles)
        let publication = try await open(made.path, service, passphrase: "open sesame")
        let license = try #require(publication.lcpLicense)
        #expect(try await license.charactersToCopyLeft == 10)
        #expect(try await license.pagesToPrintLeft == 2)
        let answers = [await publication.rights.copy("0123456"), await publication.rights.print(pageCount: 2)]
        #expect(answers == [true, true])
        #expect(try await license.charactersToCopyLeft == 3)
        #expect(try await license.pagesToPrintLeft == 0)
        #expect(try await publication.rights.remaining(.copy) == 3)
        // a closed publication grants nothing, and its license still knows
        let closed = try await open(made.path, service, passphrase: "wrong")
        #expect(try await closed.lcpLicense?.charactersToCopyLeft == 3)
        let free = try await open(
            try await book(provider, "free.epub") { $0.id = "free" }.path,
            service,
            passphrase: "open sesame"
        )
        #expect(try await free.lcpLicense?.charactersToCopyLeft == nil)
        #expect(try await free.rights.remaining(.print) == nil)
        await service.store.close()
        await #expect(throws: LCPError(.store, "")) { try await license.charactersToCopyLeft }
    }

    @Test func `defect 4: is not copied when what was used cannot be counted`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider) { $0.rights = #"{"copy":10,"print":2}"# }
        let service = try service(profiles)
        let rights = try await open(made.path, service, passphrase: "open sesame").rights
        await service.store.close()
        let answers = [await rights.canCopy, await rights.copy("0"), await rights.canPrint, await rights.print(pageCount: 1)]
        #expect(answers == [false, false, false, false])
    }

    @Test func `defect 5: is protected by one technology, and no other is asked after it`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider)
        struct Never: ContentProtection {
            func open(
                _ asset: PublicationAsset,
                fetcher: any Fetcher,
                allowUserInteraction: Bool,
                credentials: String?,
                sender: (any Sendable)?,
                onAskCredentials: OnAskCredentialsCallback?
            ) async throws(Publication.OpeningError) -> ProtectedAsset? {
                Issue.record("it was asked")
                return nil
            }
        }
        let publication = try await Streamer(contentProtections: [try service(profiles).contentProtection(), Never()])
            .open(asset: PublicationAsset(path: made.path), allowUserInteraction: false, credentials: "open sesame")
        #expect(publication.findServices((any ContentProtectionService).self).count == 1)
        #expect(!publication.isRestricted)
    }

    @Test func `without a license is closed, and what to do is said`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await book(provider)
        let zip = try requirePeer("zip")
        try await checkProcess([zip, "-qd", made.path, "META-INF/license.lcpl"])
        let audio = try await ProtectedPublication.audiobook(
            at: directory.file("a.lcpa"),
            tracks: 1,
            byteCount: 100,
            .lcp(provider, LicenseProvider.Terms())
        )
        try await checkProcess([zip, "-qd", audio.path, "license.lcpl"])
        for (path, type) in [(made.path, "application/epub+zip"), (audio.path, "application/audiobook+zip")] {
            let publication = try await open(path, try service(profiles), passphrase: "open sesame")
            #expect(publication.isRestricted)
            #expect(publication.protectionName == "Readium LCP")
            #expect((publication.protectionError as? Publication.OpeningError)?.code.identifier == "lcp.no-license")
            #expect(publication.protectionErrorMessage?.contains("license is missing") == true)
            #expect(publication.format.mediaType.description == type)
        }
        let clear = try await ProtectedPublication.epub(at: directory.file("clear.epub"), chapters: 1)
        #expect(try await !open(clear.path, try service(profiles)).isProtected)
    }

    @Test func `of pictures is a comic, too, whose manifest does not say which profile it follows`() async throws {
        let publication = try await open(try Fixtures.path("readium/sniffing/divina-lcp.unknown"), try service())
        #expect(publication.isRestricted)
        #expect(publication.format.mediaType.description == "application/divina+zip")
    }

    @Test func `defect 3: with a last block that is not padded is an error, not a crash`() async throws {
        let (provider, profiles) = try await provider()
        let made = try await ProtectedPublication.pdf(
            at: directory.file("a.lcpdf"),
            byteCount: 1000,
            .lcp(provider, LicenseProvider.Terms())
        )
        try await checkProcess([try requirePeer("unzip"), "-q", made.path, "publication.pdf"], directory: directory.path)
        var bytes = try #require(directory.read("publication.pdf"))
        for index in bytes.count - 32..<bytes.count - 16 { bytes[index] ^= 0xa5 }
        directory.write("publication.pdf", bytes)
        try await checkProcess([try requirePeer("zip"), "-q0", made.path, "publication.pdf"], directory: directory.path)
        let publication = try await open(made.path, try service(profiles), passphrase: "open sesame")
        #expect(!publication.isRestricted)
        let error = await #expect(throws: ResourceError.self) { try await publication.get("publication.pdf").length() }
        #expect(error?.code == .decryption)
    }
}
