// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
package import CarrelCrypto
import CarrelJSON
public import CarrelHTTPClient
public import CarrelPublication

/// Runs the public compliance tests of LCP on a license and its publication. The publication is not changed; no device is
/// registered and no license is changed unless ``registers``, ``renews`` or ``givesBack`` is set.
public struct ComplianceChecker: Sendable {
    /// The encryption profiles whose licenses can be checked.
    public var profiles = ProfileRegistry()
    /// The user's passphrase; nil skips the checks that need it.
    public var passphrase: String?
    /// Whether no address is tried.
    public var isOffline = false
    /// Whether to register a device with the server, twice, and once without its name.
    public var registers = false
    /// Whether to renew the license.
    public var renews = false
    /// Whether the license is given back in the end: it is of no use any more then.
    public var givesBack = false
    /// Available lists of revoked certificates, in addition to the lists that the provider's certificate names, which are fetched
    /// unless offline.
    package var revocationLists: [RevocationList] = []
    /// The addresses of further lists.
    public var revocationListAddresses: [String] = []
    /// The device's store, if any: its lists of revoked certificates are checked too, as for opening a publication. The store is
    /// not changed.
    public var store: LCPStore?
    let client: HTTPClient
    let clock: any WallClock

    /// Creates a checker.
    ///
    /// - Parameters:
    ///   - client: for the addresses in licenses; nil for a client that connects only to public addresses.
    ///   - clock: the clock that decides whether a list of revoked certificates is current.
    public init(client: HTTPClient? = nil, clock: any WallClock = SystemClock()) {
        self.clock = clock
        self.client = client ?? HTTPClient(configuration: HTTPClientConfiguration(addresses: .publicOnly))
    }

    /// Adds a list of revoked certificates to those that count.
    ///
    /// - Parameter bytes: a list in DER or PEM (RFC 5280 §5).
    /// - Throws: `lcp.certificate` for anything else.
    public mutating func addRevocationList(_ bytes: [UInt8]) throws(LCPError) {
        do throws(CryptoError) { revocationLists.append(try RevocationList(bytes)) } catch {
            throw LCPError(.certificate, "the list of revoked certificates cannot be read: \(error)")
        }
    }

    /// Checks a license that stands alone, or the one in a package and the package.
    ///
    /// - Parameter asset: a file or an address.
    /// - Returns: every question in a fixed order.
    /// - Throws: when there is nothing to check: `opening.not-found`, or `opening.unsupported-format` without a license.
    public func check(_ asset: PublicationAsset) async throws(Publication.OpeningError) -> [ComplianceCheck] {
        var report = ComplianceReport()
        let fetcher: any Fetcher
        let packaged: [UInt8]?
        let bytes: [UInt8]
        do throws(ResourceError) {
            fetcher = try await AssetOpener(client: client).fetcher(of: asset)
            packaged = try await LicensedPackage.document(in: fetcher)
            if let packaged {
                bytes = packaged
            } else if let alone = try await LicensedPackage.document(alone: asset, fetcher) {
                bytes = alone
            } else {
                throw ResourceError(.malformed, "there is no license in it")
            }
        } catch {
            throw Publication.OpeningError(error)
        }
        defer { fetcher.close() }
        let license: UnverifiedLicense
        do throws(LCPError) {
            license = try UnverifiedLicense(bytes)
        } catch {
            report.add("license.schema", error.message)
            return report.checks
        }
        let verified = checkLicense(license, &report)
        if await checkRevocation(verified, &report) {
            await checkLinks(license.document, &report)
            await checkStatus(license.document, &report)
        } else {
            // unverified addresses receive no requests
            for name in ["links", "status"] { report.skip(name, "the license is not to be trusted") }
        }
        if packaged != nil {
            await checkPackage(asset, fetcher, &report)
        } else {
            report.skip("package", "the license stands alone")
        }
        return report.checks
    }

    /// Whether the license is to be trusted.
    private func checkLicense(_ license: UnverifiedLicense, _ report: inout ComplianceReport) -> VerifiedLicense? {
        let document = license.document
        report.add("license.schema", Self.schemaFault(document))
        report.add("license.provider", Self.isWeb(document.provider) ? nil : "the provider is not an http or https address")
        report.add("license.profile", profiles[document.encryption.profile] == nil ? "the profile is not known here" : nil)
        let size = document.encryption.contentKey.count
        report.add("license.content-key", size == 64 ? nil : "the encrypted content key has \(size) bytes instead of 64")
        report.add("license.user", Self.userFault(document.user))
        let rights = document.rights
        let isOrdered = rights.start.flatMap { start in rights.end.map { start < $0 } } ?? true
        report.add("license.rights", isOrdered ? nil : "it ends before it starts")
        var verified: VerifiedLicense?
        do throws(LCPError) {
            verified = try license.verified(by: profiles)
            for name in ["license.certificate", "license.signature"] { report.add(name, nil) }
        } catch {
            let isSignature = error.code == .signature
            report.add("license.certificate", isSignature ? nil : error.message)
            if isSignature {
                report.add("license.signature", error.message)
            } else {
                report.skip("license.signature", "the certificate is not to be trusted")
            }
        }
        checkPassphrase(verified, &report)
        return verified
    }

    private func checkPassphrase(_ license: VerifiedLicense?, _ report: inout ComplianceReport) {
        guard let license, let passphrase else {
            report.skip("license.key-check", passphrase == nil ? "there is no passphrase" : "the license is not to be trusted")
            return
        }
        do throws(LCPError) {
            var isRight = false
            for key in UserKey.candidates(passphrase) where try license.contentKey(key) != nil { isRight = true }
            report.add("license.key-check", isRight ? nil : "it is not the license's passphrase")
        } catch {
            report.add("license.key-check", error.message)
        }
    }

    private static func schemaFault(_ license: LicenseDocument) -> String? {
        if license.links.first(withRelation: "hint") == nil { return "there is no link to a hint" }
        guard let publication = license.links.first(withRelation: "publication") else {
            return "there is no link to the publication"
        }
        if publication.mediaType == nil { return "the link to the publication has no media type" }
        if license.encryption.hint.isEmpty { return "there is no hint in words" }
        if license.links.contains(where: { $0.relations.isEmpty }) { return "a link has no relation" }
        let userKey = license.json["encryption"]?["user_key"]?.object
        if userKey?["value"] != nil { return "the user key is in it" }
        if license.encryption.contentKeyAlgorithm != Encryption.aes256CBC {
            return "the content key has another cipher than AES-256"
        }
        let digest = "http://www.w3.org/2001/04/xmlenc#sha256"
        if license.encryption.userKeyAlgorithm != digest { return "the user key has another digest than SHA-256" }
        return nil
    }

    private static func userFault(_ user: LicenseUser) -> String? {
        if user.id == nil { return "the user has no identifier" }
        for name in ["email", "name"] where user.json[name] != nil && !user.encrypted.contains(name) {
            return "the user's \(name) is not encrypted"
        }
        return nil
    }

    static func isWeb(_ text: String) -> Bool { text.hasPrefix("https://") || text.hasPrefix("http://") }
}
