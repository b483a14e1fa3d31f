// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// An app outside of the tree: a test builds it against a tagged clone, whose address is in CARREL_URL.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("MemberImportVisibility"),
]

func app(_ name: String, _ product: String) -> Target {
    .executableTarget(name: name, dependencies: [.product(name: product, package: "carrel")], swiftSettings: settings)
}

let package = Package(
    name: "outside",
    dependencies: [.package(url: Context.environment["CARREL_URL"] ?? "https://example.org/carrel.git", exact: "0.0.1")],
    targets: [
        app("ReaderApp", "CarrelReader"), app("PublicationApp", "CarrelPublication"), app("FoundationApp", "CarrelFoundation"),
        app("PlayerApp", "CarrelPlayer"), app("MediaApp", "CarrelMedia"),
        app("ProxyApp", "CarrelProxy"), app("WebReaderApp", "CarrelWebReader"),
    ]
)
