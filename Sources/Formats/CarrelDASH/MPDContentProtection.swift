// SPDX-License-Identifier: Apache-2.0

/// How content is protected (ISO/IEC 23009-1 §5.8.4.1, ISO/IEC 23001-7 §11.2).
package struct MPDContentProtection: Sendable, Hashable {
    /// The scheme's URI, as written; it is compared without case.
    package var scheme: String
    package var value: String?
    /// Key ids of `cenc:default_KID`: 32 digits in lower case.
    package var defaultKeyIDs: [String] = []
    package var robustness: String?
    package var ref: String?
    package var refID: String?
    /// The `pssh` boxes of `cenc:pssh`.
    package var protectionBoxes: [[UInt8]] = []
    /// The PlayReady object of `mspr:pro`.
    package var playReadyObject: [UInt8]?
    /// Addresses of license servers (`dashif:laurl`, `dashif:Laurl`, `clearkey:Laurl`, `ms:laurl`).
    package var licenseURLs: [String] = []
    /// Addresses of the tokens for license servers (`dashif:authzurl`).
    package var authorizationURLs: [String] = []
    /// Marlin's content ids (`mas:MarlinContentId`).
    package var marlinContentIDs: [String] = []
    /// The encryption of whole segments (ISO/IEC 23009-4).
    package var segmentEncryption: MPDSegmentEncryption?

    package init(scheme: String, value: String? = nil) {
        self.scheme = scheme
        self.value = value
    }

    /// The protection systems that are known by name.
    package enum System: String, Sendable, Hashable, CaseIterable {
        case commonEncryption = "mp4protection"
        case widevine, playReady = "playready", clearKey = "clearkey", marlin, primetime, fairPlay = "fairplay"
        case common = "w3c-common"
        case segmentEncryption = "segment-encryption"

        /// The URIs that mean the system, in lower case.
        package var schemes: [String] {
            switch self {
            case .commonEncryption: ["urn:mpeg:dash:mp4protection:2011"]
            case .widevine: ["urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed"]
            case .playReady: ["urn:uuid:9a04f079-9840-4286-ab92-e65be0885f95"]
            case .clearKey: ["urn:uuid:e2719d58-a985-b3c9-781a-b030af78d30e"]
            case .marlin: ["urn:uuid:5e629af5-38da-4063-8977-97ffbd9902d4", "urn:uuid:69f908af-4816-46ea-910c-cd5dcccb0a3a"]
            case .primetime: ["urn:uuid:f239e769-efa3-4850-9c16-a903c6932efb"]
            case .fairPlay: ["urn:uuid:94ce86fb-07ff-4f43-adb8-93d2fa968ca2", "urn:uuid:29701fe4-3cc7-4a34-8c5b-ae90c7439a47"]
            case .common: ["urn:uuid:1077efec-c0b2-4d02-ace3-3c1e52e2fb4b"]
            case .segmentEncryption: ["urn:mpeg:dash:sea:2012"]
            }
        }
    }

    /// The system; nil if unknown.
    package var system: System? {
        let scheme = scheme.lowercased()
        return System.allCases.first { $0.schemes.contains(scheme) }
    }

    /// A key id as 32 digits in lower case: of a UUID, of its digits, or of `urn:marlin:kid:`; nil for anything else.
    package static func keyID(_ text: some StringProtocol) -> String? {
        var text = text.lowercased()
        if text.hasPrefix("urn:marlin:kid:") { text = String(text.dropFirst(15)) }
        let digits = text.filter { $0 != "-" }
        guard digits.utf8.count == 32, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }) else { return nil }
        return digits
    }

    /// The descriptor with the content of the descriptor that it refers to.
    func completed(by references: [String: MPDContentProtection]) -> MPDContentProtection {
        guard let source = ref.flatMap({ references[$0] }) else { return self }
        var merged = self
        merged.value = value ?? source.value
        if merged.defaultKeyIDs.isEmpty { merged.defaultKeyIDs = source.defaultKeyIDs }
        if merged.protectionBoxes.isEmpty { merged.protectionBoxes = source.protectionBoxes }
        merged.playReadyObject = playReadyObject ?? source.playReadyObject
        if merged.licenseURLs.isEmpty { merged.licenseURLs = source.licenseURLs }
        if merged.authorizationURLs.isEmpty { merged.authorizationURLs = source.authorizationURLs }
        if merged.marlinContentIDs.isEmpty { merged.marlinContentIDs = source.marlinContentIDs }
        return merged
    }

    /// The effective descriptors if both levels have some: a lower descriptor overrides the upper one of the same scheme; others
    /// are added.
    static func merged(_ upper: [MPDContentProtection], _ lower: [MPDContentProtection]) -> [MPDContentProtection] {
        // without a copy: thousands of representations may inherit one list
        if lower.isEmpty { return upper }
        if upper.isEmpty { return lower }
        let schemes = Set(lower.map { $0.scheme.lowercased() })
        return upper.filter { !schemes.contains($0.scheme.lowercased()) } + lower
    }
}

/// The encryption of whole segments (ISO/IEC 23009-4 §6).
package struct MPDSegmentEncryption: Sendable, Hashable {
    /// A run of segments under one key.
    package struct Period: Sendable, Hashable {
        /// Segments before it since the end of the last one.
        package var offset: UInt64 = 0
        /// Segments; nil for all that follow.
        package var count: UInt64?
        /// 16 bytes; nil for the segment number.
        package var initializationVector: [UInt8]?
        /// The template of the key's address (`$Number$` and the like, as in SegmentTemplate).
        package var keyURITemplate: String?

        package init() {}
    }

    /// The cipher, such as `urn:mpeg:dash:sea:aes128-cbc:2013`.
    package var scheme: String?
    /// How keys are fetched, such as `urn:mpeg:dash:sea:keysys:http:2013`.
    package var keySystem: String?
    package var periods: [Period] = []

    package init() {}

    /// The run of a segment.
    ///
    /// - Parameter index: the segment's place in its representation, from zero.
    /// - Returns: nil for a segment in the clear.
    package func period(ofSegment index: Int) -> Period? {
        var first: UInt64 = 0
        for period in periods {
            first = first &+ period.offset
            guard index >= 0, UInt64(index) >= first else { return nil }
            guard let count = period.count else { return period }
            if UInt64(index) - first < count { return period }
            first = first &+ count
        }
        return nil
    }
}
