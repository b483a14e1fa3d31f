// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelCrypto
import CarrelPublication
import CarrelThreads

/// The license of a publication that was opened, with its operations at the provider.
public final class LCPLicense: Sendable {
    private struct State {
        var license: UnverifiedLicense
        /// Nil for an unverified license: nothing is sent to its addresses.
        var verified: VerifiedLicense?
        var status: StatusDocument?
    }

    private let state: Locked<State>
    private let service: LCPService
    /// Puts a license into the publication.
    private let replace: @Sendable (VerifiedLicense) async throws(LCPError) -> Void

    init(
        _ outcome: LicenseOpening.Outcome,
        _ service: LCPService,
        replace: @escaping @Sendable (VerifiedLicense) async throws(LCPError) -> Void
    ) {
        state = Locked(State(license: outcome.license, verified: outcome.verified, status: outcome.status))
        self.service = service
        self.replace = replace
    }

    /// The current license document.
    public var document: LicenseDocument { state.withLock { $0.license.document } }
    /// The server's last status; nil if it was not or could not be requested.
    public var status: StatusDocument? { state.withLock { $0.status } }

    /// The characters that may still be copied on this device, in Unicode scalars; nil if copying is not limited.
    ///
    /// Throws `lcp.store` if the usage cannot be read.
    public var charactersToCopyLeft: Int? {
        get async throws(LCPError) { try await remaining(.copy) }
    }

    /// The pages that may still be printed on this device; nil if printing is not limited.
    ///
    /// Throws `lcp.store` if the usage cannot be read.
    public var pagesToPrintLeft: Int? {
        get async throws(LCPError) { try await remaining(.print) }
    }

    private func remaining(_ right: CountedRight) async throws(LCPError) -> Int? {
        let document = document
        let store = try await service.store.rights()
        let rights = MeteredUserRights(
            publication: document.nameHere,
            copy: document.rights.copy,
            print: document.rights.print,
            store: store
        )
        do throws(UserRightsError) { return try await rights.remaining(right) } catch { throw LCPError(.store, error.message) }
    }

    /// The result of a renewal.
    public enum Renewal: Sendable, Equatable {
        /// The license was extended; nil if it no longer ends.
        case renewed(until: Instant?)
        /// The user has to ask at this address in a browser; afterwards call ``LCPLicense/update()``.
        case page(String)
    }

    /// Renews the loan (LSD 1.0 §3.4), and puts the new license into the publication.
    ///
    /// - Parameter end: the requested end; nil leaves it to the provider.
    /// - Returns: the new end, or the page where the user has to renew.
    /// - Throws: `lcp.not-offered`, `lcp.refused` with the provider's words, `lcp.unavailable`.
    @discardableResult
    public func renew(until end: Instant? = nil) async throws(LCPError) -> Renewal {
        let status = try await askStatus()
        let links = status.links.filter { $0.relations.contains("renew") }
        guard let link = links.first(where: { !$0.isPage }) else {
            guard let page = links.first else { throw LCPError(.notOffered, "the provider does not extend this license") }
            return .page(URITemplate.expand(page.href, [:]))
        }
        let device = try await service.store.deviceID()
        let before = document
        try await follow(try await service.server.renew(link, device: device, until: end), mustBeFresh: true)
        guard document != before else { throw LCPError(.refused, "the license server answered, and did not extend the license") }
        return .renewed(until: document.rights.end)
    }

    /// Gives the publication back before its time (LSD 1.0 §3.3). It does not open afterwards.
    ///
    /// - Throws: `lcp.not-offered`, `lcp.refused` with the provider's words, `lcp.unavailable`.
    public func giveBack() async throws(LCPError) {
        let status = try await askStatus()
        guard let link = status.links.first(withRelation: "return") else {
            throw LCPError(.notOffered, "the provider does not take this license back")
        }
        let device = try await service.store.deviceID()
        try await follow(try await service.server.giveBack(link, device: device), mustBeFresh: false)
        // a returned loan stays closed without another request
        try? await service.store.noteStanding(of: document, refusal: LCPError(.returned, "the publication was given back"))
    }

    /// Asks the provider how the license stands, and puts a newer one into the publication.
    ///
    /// - Throws: `lcp.not-offered` if the license has no status document; ``LCPError`` if the provider cannot be reached or its
    ///   answer is not accepted.
    public func update() async throws(LCPError) {
        try await follow(try await askStatus(), mustBeFresh: true)
    }

    private func askStatus() async throws(LCPError) -> StatusDocument {
        guard let verified = state.withLock({ $0.verified }) else {
            throw LCPError(.notOffered, "the license is not trusted, so its provider is not asked")
        }
        guard let link = verified.document.links.first(withRelation: "status") else {
            throw LCPError(.notOffered, "the license has no status at its provider")
        }
        let status = try await service.server.status(at: link)
        guard status.id == verified.document.id else {
            throw LCPError(.malformedStatus, "the license server did not return the updated license")
        }
        await take(status, verified.document)
        return status
    }

    /// Takes over how the license stands, and remembers it for opening without a connection.
    private func take(_ status: StatusDocument, _ license: LicenseDocument) async {
        state.withLock { $0.status = status }
        await service.note(license, after: license, LicenseValidation.refusal(status, license, service.clock.now))
    }

    /// Applies a server's response, and installs a newer license if there is one.
    private func follow(_ status: StatusDocument, mustBeFresh: Bool) async throws(LCPError) {
        let before = document
        guard status.id == before.id else {
            throw LCPError(.malformedStatus, "the license server did not return the updated license")
        }
        await take(status, before)
        guard let updated = status.licenseUpdated, updated > before.lastChange,
            let link = status.licenseLink(service.configuration.profiles)
        else { return }
        do throws(LCPError) {
            let fresh = try await service.verify(try await service.server.license(at: link)).get()
            guard fresh.document.replaces(before) else {
                throw LCPError(.unavailable, "the license server sent another license than the new one")
            }
            try await replace(fresh)
            state.withLock { state in
                state.license = fresh.unverified
                state.verified = fresh
            }
            await service.note(
                fresh.document,
                after: before,
                LicenseValidation.refusal(status, fresh.document, service.clock.now)
            )
        } catch {
            // a returned loan stays returned without its new license
            if mustBeFresh { throw error }
        }
    }
}

extension LicenseLink {
    /// Whether it is for a person with a browser.
    fileprivate var isPage: Bool { mediaType?.essence == "text/html" || mediaType?.essence == "application/xhtml+xml" }
}
