// SPDX-License-Identifier: Apache-2.0

/// An `item` of the manifest of a package document (EPUB 3.3 §5.6.2).
struct PackageItem {
    let id: String
    let path: ResourcePath?
    let href: String
    let mediaType: MediaType?
    let properties: [String]
    let fallback: String?
    let mediaOverlay: String?
}

/// An `itemref` of the spine of a package document (EPUB 3.3 §5.7.2).
struct PackageSpineItem {
    let id: String
    let isLinear: Bool
    let properties: [String]
}
