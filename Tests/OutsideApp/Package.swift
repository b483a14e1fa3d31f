// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// Apps outside of the tree. Tests build them against this checkout, whose folder is in CARREL_PATH, and against a tagged clone, whose
// address is in CARREL_URL. The first five are programs of docs/sdk.md.

let carrel: Package.Dependency =
    if let path = Context.environment["CARREL_PATH"] { .package(name: "carrel", path: path) } else {
        .package(url: Context.environment["CARREL_URL"] ?? "https://example.org/carrel.git", exact: "0.0.1")
    }

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility"),
]

func app(_ name: String, _ products: String...) -> Target {
    .executableTarget(name: name, dependencies: products.map { .product(name: $0, package: "carrel") }, swiftSettings: settings)
}

let package = Package(
    name: "outside",
    dependencies: [carrel],
    targets: [
        app("OpenPublication", "CarrelPublication"), app("ListShelf", "CarrelReader"),
        app("PlayFilm", "CarrelProxy"), app("DecryptFile", "CarrelMedia"),
        app("ReadLicensed", "CarrelLicenseKeys"), app("RightsApp", "CarrelPlayerRights"),
        app("ReaderApp", "CarrelReader"), app("PublicationApp", "CarrelPublication"), app("FoundationApp", "CarrelFoundation"),
        app("PlayerApp", "CarrelPlayer"), app("MediaApp", "CarrelMedia"),
        app("SavedKeysApp", "CarrelContentKeys"),
        app("LicensedBookApp", "CarrelLicensedPublications"),
        app("ProxyApp", "CarrelProxy"), app("WebReaderApp", "CarrelWebReader"),
        app("VaultApp", "CarrelVault", "CarrelVaultPKCS11", "CarrelVaultTPM", "CarrelVaultSecretService"),
    ]
)
