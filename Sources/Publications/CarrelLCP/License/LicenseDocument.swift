// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelCrypto
import CarrelJSON

/// A license document (LCP 1.0 §3), read and not yet verified: see ``UnverifiedLicense``.
///
/// Unknown members are kept, because the signature covers them.
public struct LicenseDocument: Sendable, Equatable {
    /// Names the license at its provider.
    public let id: String
    /// The time of issue.
    public let issued: Instant
    /// The time of the last change; nil for a license that was never changed.
    public let updated: Instant?
    /// The provider's name; meant to be a URI, but not always one.
    public let provider: String
    /// The profile, the encrypted content key and the hint at the passphrase.
    public let encryption: LicenseEncryption
    /// The links of the license, such as to its publication and its status.
    public let links: [LicenseLink]
    /// The rights to copy and print, and the time in which the license is valid.
    public let rights: LicenseRights
    /// The user's id and profile, partly encrypted.
    public let user: LicenseUser
    /// The provider's signature and certificate.
    public let signature: LicenseSignature
    /// The document as received: the signed bytes, with all user data. Old servers included the digest of the passphrase. They
    /// are written into the publication, or into the store if the publication is read-only, and never printed.
    let bytes: [UInt8]
    let json: JSONObject

    /// Bytes of a license at most.
    public static let sizeLimit = 1 << 20
    /// The media type of license documents.
    public static let mediaType = "application/vnd.readium.lcp.license.v1.0+json"

    /// Reads a license document.
    ///
    /// - Parameter bytes: the document, in UTF-8.
    /// - Throws: `lcp.license` unless the bytes are a license of LCP 1.0.
    public init(_ bytes: [UInt8]) throws(LCPError) {
        let json: JSON
        do throws(Malformed) { json = try JSON.parse(bytes.rawSpan, limits: JSONLimits(byteCount: Self.sizeLimit)) } catch {
            throw LCPError(.malformedLicense, "the license is no JSON: \(error)")
        }
        guard let object = json.object else { throw LCPError(.malformedLicense, "the license is not an object") }
        if object["links"]?.object != nil {
            throw LCPError(.malformedLicense, "the license has the layout from before version 1.0, with an object of links")
        }
        let reader = DocumentReader(object, "license", .malformedLicense)
        id = try reader.text("id")
        issued = try reader.instant("issued")
        updated = try reader.instantIfPresent("updated")
        provider = try reader.text("provider")
        encryption = try LicenseEncryption(reader.member("encryption"))
        guard let list = object["links"]?.array else { throw LCPError(.malformedLicense, "the license has no array of links") }
        links = list.compactMap(LicenseLink.init)
        rights = try LicenseRights(reader.memberIfPresent("rights"))
        user = LicenseUser(object["user"]?.object ?? JSONObject())
        signature = try LicenseSignature(reader.member("signature"))
        self.bytes = bytes
        self.json = object
    }

    /// The time of the last change: its certificate must have been valid then, and status documents are compared with it.
    public var lastChange: Instant { updated ?? issued }

    /// Names the license on this device: identifiers are a provider's own, so its name belongs to it.
    var nameHere: String { "\(provider.utf8.count):\(provider)\(id)" }

    /// Names who signed it, whatever it calls itself: the digest of the key of the provider's certificate, which the next certificate may keep. Not
    /// checked; the license's own claims are kept under it and found by it.
    var signer: String {
        let key = (try? Certificate(der: signature.certificate))?.subjectPublicKeyInfo ?? signature.certificate
        return Hex.encode(SHA256.hash(key.rawSpan))
    }

    /// Whether it takes the place of another: the same license of the same provider, and newer.
    func replaces(_ other: LicenseDocument) -> Bool {
        id == other.id && provider == other.provider && lastChange > other.lastChange
    }

    public static func == (a: Self, b: Self) -> Bool { a.json == b.json }
}

/// The encryption of a license's content key and user key (LCP 1.0 §3.3).
public struct LicenseEncryption: Sendable {
    /// The URI of the profile.
    public let profile: String
    /// A question that leads the user to the passphrase.
    public let hint: String
    /// The URIs of the cipher and of the digest.
    public let contentKeyAlgorithm: String
    /// The URI of the digest that makes the user key of the passphrase.
    public let userKeyAlgorithm: String
    /// Initialization vector and cipher text.
    let contentKey: [UInt8]
    let keyCheck: [UInt8]

    init(_ reader: DocumentReader) throws(LCPError) {
        profile = try reader.text("profile")
        let (content, user) = (try reader.member("content_key"), try reader.member("user_key"))
        contentKeyAlgorithm = try content.text("algorithm")
        contentKey = try content.base64("encrypted_value")
        userKeyAlgorithm = try user.text("algorithm")
        keyCheck = try user.base64("key_check")
        hint = user.object["text_hint"]?.string ?? ""
    }
}

/// The rights of a license's user (LCP 1.0 §3.5).
public struct LicenseRights: Sendable, Equatable {
    /// Pages in all that may be printed; nil for no limit.
    public let print: Int?
    /// Characters in all that may be copied; nil for no limit.
    public let copy: Int?
    /// The start of validity; nil for no limit.
    public let start: Instant?
    /// The end of validity; nil for no limit.
    public let end: Instant?

    init(_ reader: DocumentReader?) throws(LCPError) {
        // a negative number means no limit
        print = try reader?.countIfPresent("print").flatMap { $0 < 0 ? nil : $0 }
        copy = try reader?.countIfPresent("copy").flatMap { $0 < 0 ? nil : $0 }
        start = try reader?.instantIfPresent("start")
        end = try reader?.instantIfPresent("end")
    }
}

/// The user of a license (LCP 1.0 §3.6). Name and address are never shown.
public struct LicenseUser: Sendable {
    /// Names the user at the provider.
    public let id: String?
    /// The members that are encrypted with the user key.
    public let encrypted: [String]
    let json: JSONObject

    init(_ json: JSONObject) {
        id = json["id"]?.string
        encrypted = (json["encrypted"]?.array ?? []).compactMap(\.string)
        self.json = json
    }
}

/// The signature of a license (LCP 1.0 §3.7).
public struct LicenseSignature: Sendable {
    /// A URI.
    public let algorithm: String
    /// The provider's certificate in DER.
    let certificate: [UInt8]
    let value: [UInt8]

    init(_ reader: DocumentReader) throws(LCPError) {
        algorithm = try reader.text("algorithm")
        certificate = try reader.base64("certificate")
        value = try reader.base64("value")
    }
}
