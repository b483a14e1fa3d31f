// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The last known status of a license on a device, used while its provider cannot be reached.
struct CachedLicenseStatus: Sendable {
    /// The change time of the newest known license: an older license is no longer accepted.
    let newest: Instant
    /// The provider's final action on it.
    let refusal: LCPError?

    /// Returns the reason why a license cannot be opened without its provider.
    func refusal(of license: LicenseDocument) -> LCPError? {
        if let refusal { return refusal }
        guard license.lastChange < newest else { return nil }
        return LCPError(.superseded, "the license was replaced by a newer one")
    }
}
