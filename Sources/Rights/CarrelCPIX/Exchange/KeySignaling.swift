// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelRights

/// The public data of one protection system about a key. For systems of other vendors it is their public minimum: ids of keys, and
/// nothing that only the vendor can make.
struct KeySignaling {
    /// The systems that Carrel writes signaling for.
    enum System: String, CaseIterable {
        case widevine = "edef8ba9-79d6-4ace-a3c8-27dcd51d21ed"
        case playReady = "9a04f079-9840-4286-ab92-e65be0885f95"
        case fairPlay = "94ce86fb-07ff-4f43-adb8-93d2fa968ca2"
        /// The common system (W3C "cenc" Initialization Data Format).
        case common = "1077efec-c0b2-4d02-ace3-3c1e52e2fb4b"
        case clearKey = "e2719d58-a985-b3c9-781a-b030af78d30e"
        /// AES-128 of HLS, by the id that SPEKE gives it.
        case hlsAES128 = "81376844-f976-481e-a84e-cc25d39b0b33"
        /// Carrel's own licenses.
        case carrel = "e5a7c0a4-b92b-4539-85d1-77cdfa9339b7"
    }

    let system: System
    let keyID: CarrelRights.KeyID
    /// The scheme of Common Encryption, or a method of HLS.
    let scheme: String
    /// The address where ClearKey players get keys; nil if the server does not know its own.
    let clearKeyURL: String?

    // MARK: Headers

    /// The `pssh` box; nil for systems without one.
    var protectionBox: [UInt8]? {
        switch system {
        case .widevine: box(data: widevineData)
        case .playReady: box(data: playReadyObject)
        case .common, .clearKey, .carrel: box(data: nil)
        case .fairPlay, .hlsAES128: nil
        }
    }

    /// The children of `ContentProtection` in a DASH manifest; nil for systems that DASH does not have.
    var contentProtection: String? {
        guard let box = protectionBox else { return nil }
        var text = "<cenc:pssh xmlns:cenc=\"urn:mpeg:cenc:2013\">\(Base64.encode(box))</cenc:pssh>"
        if system == .playReady {
            text += "<mspr:pro xmlns:mspr=\"urn:microsoft:playready\">\(Base64.encode(playReadyObject))</mspr:pro>"
        }
        if system == .clearKey, let clearKeyURL {
            // the address is the operator's own; XML reserves these characters
            let address = clearKeyURL.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            text += "<dashif:laurl xmlns:dashif=\"https://dashif.org/CPS\">\(address)</dashif:laurl>"
        }
        return text
    }

    /// The header object of Smooth Streaming in base 64; nil for other systems than PlayReady.
    var smoothStreaming: String? { system == .playReady ? Base64.encode(playReadyObject) : nil }

    private func box(data: [UInt8]?) -> [UInt8] {
        let id = CarrelRights.KeyID(uuid: system.rawValue)?.bytes ?? []
        let keys = data == nil ? [CarrelMP4.KeyID(keyID.bytes.rawSpan)].compactMap(\.self) : []
        var writer = BoxWriter()
        ProtectionSystemHeader(system: id, keyIDs: keys, data: data ?? []).write(to: &writer)
        return writer.bytes
    }

    /// Widevine's message with the id of the key: field 2, `bytes` (Protocol Buffers).
    private var widevineData: [UInt8] { [0x12, UInt8(keyID.bytes.count)] + keyID.bytes }

    /// PlayReady's header object with one record, the header, which names the key alone (PlayReady Header Specification).
    private var playReadyObject: [UInt8] {
        let isChained = scheme == "cbcs" || scheme == "cbc1"
        let id = Base64.encode(playReadyID)
        let protection =
            isChained
            ? "<PROTECTINFO><KIDS><KID ALGID=\"AESCBC\" VALUE=\"\(id)\"></KID></KIDS></PROTECTINFO>"
            : "<PROTECTINFO><KEYLEN>16</KEYLEN><ALGID>AESCTR</ALGID></PROTECTINFO><KID>\(id)</KID>"
        let header =
            "<WRMHEADER xmlns=\"http://schemas.microsoft.com/DRM/2007/03/PlayReadyHeader\" version=\"\(isChained ? "4.3" : "4.0").0.0\">"
            + "<DATA>\(protection)</DATA></WRMHEADER>"
        let text = header.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        let (record, object) = (UInt16(clamping: text.count), UInt32(clamping: text.count + 10))
        return Self.littleEndian(object) + Self.littleEndian(UInt16(1)) + Self.littleEndian(UInt16(1)) + Self.littleEndian(record)
            + text
    }

    /// The id of the key in the order of a GUID: the first three groups are little-endian.
    private var playReadyID: [UInt8] {
        let bytes = keyID.bytes
        return [3, 2, 1, 0, 5, 4, 7, 6].map { bytes[$0] } + bytes[8...]
    }

    private static func littleEndian(_ number: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
        stride(from: 0, to: number.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    // MARK: HLS

    /// The address in a key line (RFC 8216 §4.3.2.4).
    var keyURI: String {
        switch system {
        case .hlsAES128: "urn:marlin-drm?CID=\(keyID.contentID)"
        case .fairPlay: "skd://\(keyID.uuid)"
        case .playReady: "data:text/plain;charset=UTF-16;base64,\(Base64.encode(playReadyObject))"
        case .widevine, .common, .clearKey, .carrel: "data:text/plain;base64,\(Base64.encode(protectionBox ?? []))"
        }
    }

    /// The format of the key in a key line.
    var keyFormat: String {
        switch system {
        case .hlsAES128: "identity"
        case .fairPlay: "com.apple.streamingkeydelivery"
        case .playReady: "com.microsoft.playready"
        case .widevine, .common, .clearKey, .carrel: "urn:uuid:\(system.rawValue)"
        }
    }

    static let keyFormatVersions = "1"

    /// A key line of a playlist.
    ///
    /// - Parameter playlist: the playlist of one rendition, or of all.
    /// - Returns: the line without its line break.
    func line(in playlist: CPIXSystem.Playlist?) -> String {
        let tag = playlist == .multivariant ? "#EXT-X-SESSION-KEY" : "#EXT-X-KEY"
        var line = "\(tag):METHOD=\(method),URI=\"\(keyURI)\""
        if system == .widevine || system == .common || system == .carrel { line += ",KEYID=0x\(keyID.hex)" }
        return line + ",KEYFORMAT=\"\(keyFormat)\",KEYFORMATVERSIONS=\"\(Self.keyFormatVersions)\""
    }

    private var method: String {
        if system == .hlsAES128 { return "AES-128" }
        return switch scheme {
        case "cbcs", "cbc1", "SAMPLE-AES": "SAMPLE-AES"
        case "AES-128": "AES-128"
        default: system == .fairPlay ? "SAMPLE-AES" : "SAMPLE-AES-CTR"
        }
    }
}
