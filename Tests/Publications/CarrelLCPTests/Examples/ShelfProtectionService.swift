// SPDX-License-Identifier: Apache-2.0

import CarrelPublication

/// Data that your own protection keeps for an opened publication.
final class ShelfProtectionService: ContentProtectionService {
    let isRestricted = false
    let license: String

    init(license: String) { self.license = license }
}

extension Publication {
    var shelfLicense: String? { findService(ShelfProtectionService.self)?.license }
}
