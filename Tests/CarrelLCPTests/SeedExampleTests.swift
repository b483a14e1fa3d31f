import CarrelPublication
import CarrelTesting
import Testing

// The examples of Readium's proposal 006, "Content Protection", as a third party writes them: without @testable.
import CarrelLCP

/// The proposal's own example of a service with an extension of `Publication`.
private final class ShelfProtectionService: ContentProtectionService {
    let isRestricted = false
    let license: String

    init(license: String) { self.license = license }
}

extension Publication {
    fileprivate var shelfLicense: String? { findService(ShelfProtectionService.self)?.license }
}

private struct Reader: LCPAuthenticating {
    func requestPassphrase(license: LCPAuthenticatedLicense) async -> String? { license.hint }
}

@Suite("The examples of the proposal")
struct SeedExampleTests {
    private let directory = TemporaryDirectory()

    @Test func `compile and run as they are written`() async throws {
        let lcpService = LCPService(store: LCPStore(path: directory.file("lcp.sqlite")))
        let authentication = Reader()
        let streamer = Streamer(contentProtections: [lcpService.contentProtection(authentication)])
        directory.write("a.mp3", [0x49, 0x44, 0x33, 3, 0, 0, 0, 0, 0, 0])
        let zip = try requirePeer("zip")
        try await checkProcess([zip, "-q", "a.zab", "a.mp3"], directory: directory.path)
        let publication = try await streamer.open(
            asset: PublicationAsset(path: directory.file("a.zab")),
            allowUserInteraction: true,
            onCreatePublication: { builder in
                builder.services.set((any ContentProtectionService).self) { _ in ShelfProtectionService(license: "mine") }
            }
        )
        if !publication.isRestricted { #expect(publication.shelfLicense == "mine") }
        if await publication.rights.copy("text") { #expect(publication.isProtected) }
        #expect(publication.lcpLicense == nil)
        try await publication.lcpLicense?.renew()
    }
}
