// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelLCP
import CarrelPublication

/// Opens a book that LCP protects; `ask` gets the provider's hint and returns the passphrase.
func openLoan(at path: String, _ service: LCPService, ask: @escaping @Sendable (_ hint: String) async -> String?) async throws
    -> Publication
{
    let streamer = Streamer(contentProtections: [service.contentProtection(Person(ask: ask))])
    return try await streamer.open(asset: PublicationAsset(path: path), allowUserInteraction: true)
}

/// Renews a loan. Returns an address if the user has to renew it on the provider's page.
func renewLoan(of publication: Publication, until end: Instant? = nil) async throws -> String? {
    guard case .page(let address) = try await publication.lcpLicense?.renew(until: end) else { return nil }
    return address
}

/// Returns a loan. The publication cannot be opened afterwards.
func returnLoan(of publication: Publication) async throws {
    try await publication.lcpLicense?.giveBack()
}

/// A service that also opens publications of another profile; `file` has the roots of its providers, in PEM or DER.
func service(trusting file: [UInt8], profile uri: String, rule: @escaping LCPProfile.UserKeyTransform, store: LCPStore) throws
    -> LCPService
{
    let profile = LCPProfile(
        uri: uri,
        anchors: try TrustAnchor.all(in: file),
        signatures: [.ecdsaSHA256],
        transform: rule
    )
    var configuration = LCPService.Configuration()
    configuration.profiles = ProfileRegistry([.basic(), profile])
    return LCPService(store: store, configuration: configuration)
}

/// The names of the compliance tests that a license or publication fails, without a network.
func failedChecks(of path: String, passphrase: String, profiles: ProfileRegistry) async throws -> [String] {
    var checker = ComplianceChecker()
    checker.profiles = profiles
    checker.passphrase = passphrase
    checker.isOffline = true
    return try await checker.check(PublicationAsset(path: path)).compactMap { check in
        if case .failed = check.outcome { check.name } else { nil }
    }
}
