// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelJSON
import CarrelMP4

/// The protection of a file as JSON, the same of every kind of file.
struct ProtectionFacts {
    /// Whether nothing is protected; nil if unknown.
    var isClear: Bool?
    /// Names of the technologies.
    var kinds: [String] = []
    /// Whether Carrel can decrypt all of them with the right keys.
    var isSupported = true
    /// Key ids, 32 digits each.
    var keyIDs: [String] = []
    var contentIDs: [String] = []
    var systems: [String] = []
    /// Addresses from which keys are fetched.
    var keyURLs: [String] = []
    /// Addresses of license servers (DASH).
    var licenseURLs: [String] = []
    var silentLicenseURLs: [String] = []
    var rightsIssuers: [String] = []
    /// Whether the file contains licenses; nil if its format cannot.
    var hasLicenses: Bool?

    init() {}

    init(_ file: MediaFile) {
        isClear = file.container == .segment ? nil : file.isClear
        kinds = file.protections.map(\.description)
        isSupported = file.protections.allSatisfy(\.isSupported)
        keyIDs = file.keyIDs.map(Hex.encode)
        contentIDs = file.contentIDs
        systems = file.systems
        keyURLs = file.keyAddresses.map(KeyAddress.shown)
        silentLicenseURLs = file.silentLicenseAddresses
        rightsIssuers = file.rightsIssuers
        if file.container == .dcf || file.container == .mp4 { hasLicenses = !file.licenses.isEmpty }
    }

    var json: JSON {
        var facts: JSONObject = [:]
        if let isClear { facts["clear"] = .bool(isClear) }
        facts["kinds"] = .texts(kinds)
        if !kinds.isEmpty { facts["supported"] = .bool(isSupported) }
        facts["keyIds"] = .texts(keyIDs)
        facts["contentIds"] = .texts(contentIDs)
        facts["systems"] = .texts(systems)
        facts["keyUrls"] = .texts(keyURLs)
        facts["licenseUrls"] = .texts(licenseURLs)
        facts["silentLicenseUrls"] = .texts(silentLicenseURLs)
        facts["rightsIssuers"] = .texts(rightsIssuers)
        if let hasLicenses { facts["embeddedLicenses"] = .bool(hasLicenses) }
        return .object(facts)
    }

    /// Adds a text to a list that has each once.
    static func add(_ text: String, to list: inout [String]) {
        if !text.isEmpty, !list.contains(text) { list.append(text) }
    }
}
