// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelRights

/// A document of the Content Protection Information Exchange Format (DASH-IF CPIX 2.3 and 2.4): content keys, the tracks that they are
/// for, and the data of protection systems.
package struct CPIXDocument: Sendable {
    /// An edition of the format.
    package enum Version: String, Sendable, CaseIterable {
        case v23 = "2.3"
        case v24 = "2.4"
    }

    /// The declared edition; nil in documents from before version 2.3, which are read as 2.3.
    package var version: Version?
    /// The content that the keys are for (`contentId`).
    package var contentID: String?
    /// The document's own id, in which SPEKE 1 names the content.
    package var id: String?
    /// The parties that can decrypt the keys; empty if the keys are clear, or if the document has none.
    package var recipients: [CPIXRecipient] = []
    package var keys: [CPIXKey] = []
    package var systems: [CPIXSystem] = []
    package var periods: [CPIXPeriod] = []
    package var rules: [CPIXRule] = []
    /// Facts that are no reason to refuse the document.
    package var warnings: [CPIXWarning] = []

    /// A document without keys.
    package init(contentID: String? = nil) {
        self.contentID = contentID
    }

    /// The key with an id; nil without it.
    package func key(_ id: KeyID) -> CPIXKey? { keys.first { $0.id == id } }
}

/// A fact about a document that is no reason to refuse it.
package enum CPIXWarning: Sendable, Equatable {
    /// The document is signed, and Carrel does not verify signatures.
    case unverifiedSignature

    /// The warning in words.
    package var message: String {
        switch self {
        case .unverifiedSignature: "the document's signature was not verified: its sender is not proven"
        }
    }
}

/// A party that can decrypt the keys (`DeliveryData`).
package struct CPIXRecipient: Sendable {
    package var id: String?
    package var name: String?
    /// The certificate of the recipient's RSA key.
    package var certificate: Certificate
    /// The key of the content keys, encrypted to the recipient; nil in a request.
    package var documentKey: [UInt8]?
    /// The key of the codes that prove that encrypted keys are unaltered, encrypted to the recipient.
    package var macKey: [UInt8]?
}

/// A content key (`ContentKey`).
package struct CPIXKey: Sendable {
    /// The key itself.
    package enum Value: Sendable {
        /// A request for the key.
        case none
        case clear(Secret)
        /// Initialization vector and cipher text, and the code over both.
        case encrypted(cipher: [UInt8], mac: [UInt8]?)
    }

    package var id: KeyID
    package var value: Value
    /// The scheme of Common Encryption, such as `cenc` or `cbcs`; in version 2.4 also a method of HLS.
    package var scheme: String?
    /// The initialization vector to encrypt with.
    package var explicitIV: [UInt8]?
    /// The key that this one is derived from.
    package var dependsOn: KeyID?

    package init(_ id: KeyID, _ value: Value = .none, scheme: String? = nil, explicitIV: [UInt8]? = nil) {
        self.id = id
        self.value = value
        self.scheme = scheme
        self.explicitIV = explicitIV
    }

    /// The key in the clear; nil if it is encrypted or missing.
    package var secret: Secret? {
        if case .clear(let secret) = value { secret } else { nil }
    }
}

/// The data of one protection system for a key (`DRMSystem`).
package struct CPIXSystem: Sendable, Equatable {
    /// A playlist of HLS.
    package enum Playlist: Sendable, Hashable {
        /// The playlist of a rendition.
        case media
        /// The playlist of all renditions: `master` in version 2.3, `multiVariant` in version 2.4.
        case multivariant
    }

    /// The system's id: a UUID.
    package var system: KeyID
    package var keyID: KeyID
    package var name: String?
    /// A `pssh` box.
    package var protectionBox: [UInt8]?
    /// Elements of a DASH manifest.
    package var contentProtection: [UInt8]?
    /// The address in a key line of HLS.
    package var keyURI: [UInt8]?
    /// Lines of HLS playlists; the playlist is nil in documents that do not distinguish.
    package var hlsSignaling: [Playlist?: [UInt8]] = [:]
    /// The header object of Smooth Streaming.
    package var smoothStreaming: String?

    package init(_ system: KeyID, _ keyID: KeyID) {
        self.system = system
        self.keyID = keyID
    }
}

/// A period of a content with keys of its own (`ContentKeyPeriod`).
package struct CPIXPeriod: Sendable, Equatable {
    package var id: String?
    package var index: Int?
    package var start: Instant?
    package var end: Instant?
    /// The start and end from the beginning of the content, as durations of XML Schema (version 2.4).
    package var startOffset: String?
    package var endOffset: String?

    package init(id: String? = nil, index: Int? = nil) {
        self.id = id
        self.index = index
    }
}
