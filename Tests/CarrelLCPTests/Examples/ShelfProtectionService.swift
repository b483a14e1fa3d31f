import CarrelPublication

/// What a protection of your own knows of a publication that it opened.
final class ShelfProtectionService: ContentProtectionService {
    let isRestricted = false
    let license: String

    init(license: String) { self.license = license }
}

extension Publication {
    var shelfLicense: String? { findService(ShelfProtectionService.self)?.license }
}
