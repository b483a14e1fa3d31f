// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The order in which a license is checked (LCP 1.0 and LSD 1.0, "Processing model"), as a pure state machine: its caller
/// performs each action and reports the result.
///
/// The signature comes first, so that no requests are sent to the addresses of an unsigned document, and its prompt is not shown.
/// A license with a revoked certificate can still be replaced by a fresh license with another certificate.
struct LicenseValidation {
    /// The next action.
    enum Action {
        /// Check profile, certificate and signature of the license.
        case verify(UnverifiedLicense)
        case fetchStatus(LicenseLink)
        case fetchLicense(LicenseLink)
        /// Find the passphrase.
        case unlock(VerifiedLicense)
        case refuse(LCPError)
    }

    /// The result of an action.
    enum Event {
        case verified(Result<VerifiedLicense, LCPError>)
        case status(Result<StatusDocument, LCPError>)
        /// The fresh license, checked like the first.
        case license(Result<VerifiedLicense, LCPError>)
    }

    private let first: UnverifiedLicense
    private let isOffline: Bool
    private let profiles: ProfileRegistry
    private let now: Instant
    /// The cached status, used if the server cannot be reached.
    private let standing: CachedLicenseStatus?
    private var verified: Result<VerifiedLicense, LCPError>?
    /// The server's status; nil if it is unavailable.
    private(set) var status: StatusDocument?
    /// The license that takes the place of the first.
    private(set) var fresh: VerifiedLicense?

    init(
        _ license: UnverifiedLicense,
        profiles: ProfileRegistry,
        isOffline: Bool,
        now: Instant,
        standing: CachedLicenseStatus? = nil
    ) {
        first = license
        self.profiles = profiles
        self.isOffline = isOffline
        self.now = now
        self.standing = standing
    }

    /// The first action.
    func start() -> Action {
        do throws(LCPError) {
            _ = try first.profile(of: profiles)
            return .verify(first)
        } catch {
            return .refuse(error)
        }
    }

    /// The action after an event.
    mutating func next(_ event: Event) -> Action {
        switch event {
        case .verified(let result):
            verified = result
            if case .failure(let error) = result, error.code != .certificateRevoked { return .refuse(error) }
            guard !isOffline, let link = first.document.links.first(withRelation: "status") else { return decide() }
            return .fetchStatus(link)
        case .status(.failure): return decide()
        case .status(.success(let status)):
            // of another license: the server is mistaken
            guard status.id == first.document.id else { return decide() }
            self.status = status
            guard let updated = status.licenseUpdated, updated > first.document.lastChange,
                let link = status.licenseLink(profiles)
            else { return decide() }
            return .fetchLicense(link)
        case .license(.success(let license)):
            if license.document.replaces(first.document) {
                fresh = license
                verified = .success(license)
            }
            return decide()
        case .license(.failure): return decide()
        }
    }

    private func decide() -> Action {
        guard let verified else { return .verify(first) }
        if let status, let error = Self.refusal(status, (try? verified.get())?.document, now) { return .refuse(error) }
        let license: VerifiedLicense
        do throws(LCPError) { license = try verified.get() } catch { return .refuse(error) }
        if status == nil, let error = standing?.refusal(of: license.document) { return .refuse(error) }
        if let error = Self.refusal(license.document.rights, now) { return .refuse(error) }
        return .unlock(license)
    }

    /// Returns the reason if the status forbids opening the license. Revoked or returned licenses stay closed in any case; expiry
    /// only counts if the license is not newer than the status (LSD 1.0 §2.6), as after a renewal.
    static func refusal(_ status: StatusDocument, _ license: LicenseDocument?, _ now: Instant) -> LCPError? {
        let day = status.statusUpdated.map { " on \($0.description.prefix(10))" } ?? ""
        switch status.status {
        case .returned: return LCPError(.returned, "the publication was given back\(day)")
        case .cancelled: return LCPError(.loanCancelled, "the license was cancelled\(day)")
        case .revoked:
            let devices = status.events.count { $0.type == "register" }
            let devicesText =
                devices == 0 ? "" : " after it was registered by \(devices == 1 ? "one device" : "\(devices) devices")"
            return LCPError(.revoked, "the license was revoked by its provider\(day)\(devicesText)")
        case .expired:
            if let license, let updated = status.licenseUpdated, license.lastChange >= updated,
                let end = license.rights.end, now <= end
            {
                return nil
            }
            return LCPError(.expired, "the license has expired\(day)")
        case .ready, .active: return nil
        default:
            // an unknown right may forbid anything
            return LCPError(
                .unknownStatus,
                "the license has the status \"\(status.status.rawValue.prefix(64))\", which is not known"
            )
        }
    }

    /// Returns the reason if the dates of a license forbid opening it at an instant.
    static func refusal(_ rights: LicenseRights, _ now: Instant) -> LCPError? {
        if let start = rights.start, now < start { return LCPError(.notStarted, "the license is not good before \(start)") }
        if let end = rights.end, now > end { return LCPError(.expired, "the license expired at \(end)") }
        return nil
    }
}
