import CarrelBytes

/// What a device remembers of how a license stands, for when its provider cannot be asked.
struct CachedLicenseStatus: Sendable {
    /// When the newest license that was seen was changed: an older one does not count any more.
    let newest: Instant
    /// What the provider has done with it for good.
    let refusal: LCPError?

    /// Why a license is not opened without asking its provider.
    func refusal(of license: LicenseDocument) -> LCPError? {
        if let refusal { return refusal }
        guard license.lastChange < newest else { return nil }
        return LCPError(.superseded, "the license was replaced by a newer one")
    }
}
