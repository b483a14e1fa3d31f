// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The last known status of a license on a device, for when its provider cannot be asked.
struct CachedLicenseStatus: Sendable {
    /// When the newest license that was seen was changed: an older one does not count any more.
    let newest: Instant
    /// The provider's final action on it.
    let refusal: LCPError?

    /// Why a license is not opened without asking its provider.
    func refusal(of license: LicenseDocument) -> LCPError? {
        if let refusal { return refusal }
        guard license.lastChange < newest else { return nil }
        return LCPError(.superseded, "the license was replaced by a newer one")
    }
}
