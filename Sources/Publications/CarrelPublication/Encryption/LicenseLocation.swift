// SPDX-License-Identifier: Apache-2.0

/// The path of a package's license (Readium LCP §2.5): `META-INF/license.lcpl` of an EPUB, `license.lcpl` of others. Some packages have it at the
/// other place, and are found, and replaced, there.
package struct LicenseLocation: Sendable {
    package let path: ResourcePath
    /// Whether the package already contains a license.
    package let isTaken: Bool
    /// Whether the package is an EPUB.
    package let isInEPUB: Bool

    private static let container: ResourcePath = "META-INF/container.xml"
    private static let inEPUB: ResourcePath = "META-INF/license.lcpl"
    private static let inPackage: ResourcePath = "license.lcpl"

    /// - Parameter paths: the paths of all entries of the package.
    package init(in paths: [ResourcePath]) {
        isInEPUB = paths.contains(Self.container)
        let places = isInEPUB ? [Self.inEPUB, Self.inPackage] : [Self.inPackage, Self.inEPUB]
        let taken = places.first(where: paths.contains)
        path = taken ?? places[0]
        isTaken = taken != nil
    }
}
