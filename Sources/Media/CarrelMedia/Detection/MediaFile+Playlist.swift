// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import CarrelMP4

extension MediaFile {
    /// Bytes of a playlist, at most.
    private static let playlistLimit: Int64 = 32 << 20

    /// Reads an HLS playlist.
    init(playlist reader: any ByteReader) throws {
        self.init(.playlist)
        guard reader.length <= Self.playlistLimit else {
            throw Malformed("playlist is longer than 32 MiB", at: Int(Self.playlistLimit))
        }
        let bytes = try reader.readAll(0..<reader.length)
        switch try Playlist.read(bytes.rawSpan, strictness: .lenient).playlist {
        case .media(let playlist):
            var last: [EncryptionKey] = []
            for segment in playlist.segments where segment.keys != last {
                last = segment.keys
                for key in segment.keys { add(key) }
            }
        case .multivariant(let playlist): for key in playlist.sessionKeys { add(key) }
        }
    }

    private mutating func add(_ key: EncryptionKey) {
        add(.hls(key.method.rawValue))
        if let system = Self.system(key) { add(system: system) }
        add(silentLicenseAddress: key.otherAttributes["SILENT-RIGHTS-URL"]?.text)
        add(rightsIssuer: key.otherAttributes["RIGHTS-ISSUER-URL"]?.text ?? "")
        if let id = key.contentID { add(contentID: id) }
        // Marlin's is a name, not an address
        if !Self.isMarlin(key), !keyAddresses.contains(key.uri) { keyAddresses.append(key.uri) }
    }

    private static func isMarlin(_ key: EncryptionKey) -> Bool { key.uri.lowercased().hasPrefix("urn:marlin-drm") }

    /// The protection system of a key line; nil if the address returns the key itself.
    private static func system(_ key: EncryptionKey) -> String? {
        if isMarlin(key) { return "Marlin" }
        guard let format = key.keyFormat?.lowercased(), format != "identity" else { return nil }
        switch format {
        case "com.apple.streamingkeydelivery": return "FairPlay"
        case "com.microsoft.playready": return "PlayReady"
        default:
            let prefix = "urn:uuid:"
            guard format.hasPrefix(prefix) else { return format }
            let text = format.dropFirst(prefix.utf8.count)
            guard let bytes = Hex.decode(text.filter { $0 != "-" }) else { return format }
            return ProtectionSystemHeader(system: bytes).name ?? String(text)
        }
    }
}
