// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelCrypto
public import CarrelHTTPClient
import CarrelPublication

/// Readium LCP for a reading app: its store and its connections.
///
///     let service = LCPService(store: LCPStore(path: "licenses.sqlite"))
///     let streamer = Streamer(contentProtections: [service.contentProtection(authentication)])
public final class LCPService: Sendable {
    /// Settings of an app.
    public struct Configuration: Sendable {
        /// The profiles that licenses may follow.
        public var profiles = ProfileRegistry()
        /// The name of this device in lists shown to its user.
        public var deviceName = "Carrel"
        /// BCP 47 tags, for servers' messages.
        public var languages: [String] = []
        /// Whether to send no requests to any server.
        public var isOffline = false
        /// Addresses of lists of revoked certificates, besides those that certificates name.
        public var revocationListAddresses: [String] = []
        /// The time limit of requests to license servers.
        public var timeout = Duration.seconds(5)

        /// Creates options with their defaults.
        public init() {}
    }

    let store: LCPStore
    let passphrases: any PassphraseStore
    let configuration: Configuration
    let server: LicenseServer
    let lists: RevocationLists
    let clock: any WallClock
    /// Opens packages, by the addresses in licenses too.
    let opener: AssetOpener
    let background = BackgroundWork()

    /// Creates a service, which opens publications that LCP protects.
    ///
    /// - Parameters:
    ///   - store: the data of this device.
    ///   - passphrases: the storage of their digests; the store by default.
    ///   - client: for license servers. Licenses name them, and only signed licenses are followed; nil for one that reaches
    ///     nothing but public addresses (`AddressRule.publicOnly`).
    ///   - configuration: the app's settings.
    ///   - clock: the clock for the validity of licenses.
    public init(
        store: LCPStore,
        passphrases: (any PassphraseStore)? = nil,
        client: HTTPClient? = nil,
        configuration: Configuration = Configuration(),
        clock: any WallClock = SystemClock()
    ) {
        self.store = store
        self.passphrases = passphrases ?? store
        self.configuration = configuration
        self.clock = clock
        let client = client ?? HTTPClient(configuration: HTTPClientConfiguration(addresses: .publicOnly))
        opener = AssetOpener(client: client)
        server = LicenseServer(
            client: client,
            deviceName: configuration.deviceName,
            languages: configuration.languages,
            timeout: configuration.timeout
        )
        lists = RevocationLists(
            store: store,
            client: client,
            clock: clock,
            anchors: configuration.profiles.anchors,
            addresses: configuration.revocationListAddresses,
            background: background
        )
    }

    /// Waits for what is being done in the background: registrations of this device and lists of revoked certificates.
    public func finishBackgroundWork() async { await background.finish() }

    /// Checks a license as it has to be before it may be used, with the lists that are known.
    func verify(_ license: UnverifiedLicense) async -> Result<VerifiedLicense, LCPError> {
        let revocationLists = await lists.current()
        do throws(LCPError) {
            let verified = try license.verified(by: configuration.profiles, revocationLists: revocationLists)
            if !configuration.isOffline { lists.refresh(for: verified.certificate) }
            return .success(verified)
        } catch {
            return .failure(error)
        }
    }

    /// The package that a license leads to, if the license is verified: unverified addresses receive no requests.
    func package(of license: [UInt8]) async throws(ResourceError) -> PublicationAsset {
        do throws(LCPError) {
            let unverified = try UnverifiedLicense(license)
            if case .failure(let error) = await verify(unverified), error.code != .certificateRevoked { throw error }
            guard let link = unverified.document.links.first(withRelation: "publication"), !link.isTemplated else {
                throw LCPError(.malformedLicense, "the license leads to no publication")
            }
            guard !configuration.isOffline else { throw LCPError(.unavailable, "the publication is on a server") }
            var asset = PublicationAsset(url: link.href, mediaType: link.mediaType)
            asset.license = license
            return asset
        } catch {
            switch error.code {
            case .malformedLicense: throw ResourceError(.malformed, error.message)
            case .unavailable: throw ResourceError(.unavailable, error.message)
            default: throw ResourceError(.forbidden, error.message)
            }
        }
    }

    /// The newest license for a publication: its own, or one of the same provider and root that was received later and could not
    /// be put into it.
    func newest(_ license: UnverifiedLicense) async -> UnverifiedLicense {
        guard let bytes = try? await store.license(for: license.document), let candidate = try? UnverifiedLicense(bytes),
            candidate.document.replaces(license.document),
            // its own certificate may have been revoked since
            let own = try? license.verified(by: configuration.profiles),
            let other = try? await verify(candidate).get(), other.anchor == own.anchor
        else { return license }
        return candidate
    }

    /// Stores the state of a license after a response of its server, for offline use. If that fails, the state is requested again
    /// the next time.
    ///
    /// - Parameters:
    ///   - license: verified.
    ///   - before: the license that it replaced.
    ///   - error: the reason why it does not open; only the provider's final decisions are stored.
    func note(_ license: LicenseDocument, after before: LicenseDocument, _ error: LCPError?) async {
        let isFinal = error.map { [.revoked, .returned, .loanCancelled].contains($0.code) } ?? false
        try? await store.noteStanding(of: license, after: before, refusal: isFinal ? error : nil)
    }

    /// Registers this device with the server in the background, until it succeeds once.
    func register(_ license: LicenseDocument, _ status: StatusDocument) {
        guard status.status == .ready || status.status == .active,
            let link = status.links.first(withRelation: "register")
        else { return }
        background.start("register \(license.nameHere)") { [store, server] in
            guard (try? await store.isRegistered(license)) == false, let device = try? await store.deviceID(),
                (try? await server.register(link, device: device)) != nil
            else { return }
            try? await store.noteRegistration(license)
        }
    }
}
