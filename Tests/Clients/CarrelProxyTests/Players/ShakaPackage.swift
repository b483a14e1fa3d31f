// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

/// A package that Shaka Packager made of the clear film under one key.
struct ShakaPackage {
    /// How segments are laid out.
    enum Layout: String, CaseIterable {
        /// One file for each track, with a `sidx`.
        case onDemand = "on demand"
        /// Files by `$Time$`.
        case times = "by times"
        /// Files by `$Number$`.
        case numbers = "by numbers"
        /// Transport streams and packed audio: HLS alone.
        case transport = "in transport streams"
    }

    let directory = TemporaryDirectory()
    /// The manifest and the top playlist in the folder.
    static let (manifest, playlist) = ("film.mpd", "film.m3u8")
    static let keyID = "00112233445566778899aabbccddeeff"

    /// - Parameters:
    ///   - scheme: a scheme of Common Encryption; of transport streams, `cbcs` means SAMPLE-AES.
    ///   - layout: the segments' layout.
    ///   - keyAddress: in key lines; nil for the packager's, which has the key id in a `data` address.
    ///   - periods: seconds under one key; nil for one key.
    ///   - texts: descriptions of further streams.
    /// - Throws: what skips the test; ``ProcessError``.
    init(
        _ scheme: String,
        _ layout: Layout,
        keyAddress: String? = "keys/\(keyID)",
        periods: Int? = nil,
        texts: [(file: String, bytes: [UInt8], output: String)] = []
    ) async throws {
        let packager = try StreamingPeer.packager.path()
        let film = try SourceRow.film
        var streams = ["video", "audio"].map { kind in
            let head = "in=\(film),stream=\(kind),playlist_name=\(kind).m3u8"
            let at = "\(directory.path)/\(kind)"
            return switch layout {
            case .onDemand: "\(head),output=\(at).mp4"
            case .times: "\(head),init_segment=\(at)-i.mp4,segment_template=\(at)-$Time$.m4s"
            case .numbers: "\(head),init_segment=\(at)-i.mp4,segment_template=\(at)-$Number%04d$.m4s"
            case .transport: "\(head),segment_template=\(at)-$Number$.\(kind == "video" ? "ts" : "aac")"
            }
        }
        for text in texts {
            let path = directory.write(text.file, text.bytes)
            streams.append("in=\(path),stream=text,\(text.output.replacing("{}", with: directory.path))")
        }
        var options = [
            "--enable_raw_key_encryption", "--keys",
            "label=:key_id=\(Self.keyID):key=000102030405060708090a0b0c0d0e0f", "--clear_lead", "0", "--segment_duration", "2",
            "--protection_scheme", scheme, "--hls_master_playlist_output", directory.file(Self.playlist),
        ]
        if layout != .transport { options += ["--mpd_output", directory.file(Self.manifest)] }
        if layout == .times || layout == .numbers { options.append("--generate_static_live_mpd") }
        if let keyAddress { options += ["--hls_key_uri", keyAddress] }
        if let periods { options += ["--fragment_duration", "\(periods)", "--crypto_period_duration", "\(periods)"] }
        try await checkProcess([packager] + streams + options)
    }

    /// The keys of its tracks.
    static var keys: GivenKeys {
        var keys = GivenKeys()
        keys.add(ProtectedPackage.videoKey.key, for: .id(ProtectedPackage.videoKey.id.bytes))
        return keys
    }

    /// The keys where they change: id and key turn by a byte with each period.
    static func keys(periods: Int) -> GivenKeys {
        var keys = GivenKeys()
        let (id, key) = (keyID, "000102030405060708090a0b0c0d0e0f")
        for period in 0..<periods {
            func turned(_ text: String) -> String { String(text.dropFirst(2 * period) + text.prefix(2 * period)) }
            let key = ProtectedPackage.key(turned(id), turned(key))
            keys.add(key.key, for: .id(key.id.bytes))
        }
        return keys
    }

    /// A server that has the package, and its key for those who name it.
    func serve() throws -> OriginServer {
        try OriginServer(directory.path) { request in
            guard request.path.segments == ["keys", Self.keyID] else { return nil }
            return .bytes([UInt8](0..<16), type: "application/octet-stream")
        }
    }
}

extension SourceRow {
    /// Packages of Shaka Packager.
    static let ofShakaPackager: [SourceRow] =
        [ShakaPackage.Layout.onDemand, .times, .numbers].flatMap { layout in
            ["cenc", "cbcs"].flatMap { scheme in
                // it writes no key lines for `cenc`
                [
                    shaka(scheme, layout, .dash, keys: ShakaPackage.keys),
                    shaka(scheme, layout, .hls, keys: scheme == "cenc" ? ShakaPackage.keys : GivenKeys()),
                ]
            }
        } + [
            shaka("cbcs", .transport, .hls, keys: GivenKeys()),
            shaka("cenc", .times, .dash, periods: 2, keys: ShakaPackage.keys(periods: 10)),
            shaka("cbcs", .numbers, .dash, periods: 2, keys: ShakaPackage.keys(periods: 10)),
            // the packager's own key lines, which name a key by its id
            shaka("cbcs", .numbers, .hls, keyAddress: nil, keys: ShakaPackage.keys),
        ]

    private static func shaka(
        _ scheme: String,
        _ layout: ShakaPackage.Layout,
        _ type: PlaylistProxy.SourceType,
        keyAddress: String? = "keys/\(ShakaPackage.keyID)",
        periods: Int? = nil,
        keys: GivenKeys
    ) -> SourceRow {
        let details = (periods == nil ? "" : " with changing keys") + (keyAddress == nil ? " with keys by their ids" : "")
        return SourceRow(testDescription: "\(type) \(scheme) \(layout.rawValue)\(details)") {
            let package = try await ShakaPackage(scheme, layout, keyAddress: keyAddress, periods: periods)
            let origin = try package.serve()
            let name = type == .dash ? ShakaPackage.manifest : ShakaPackage.playlist
            return Source(
                address: "\(origin.origin)/\(name)",
                type: type,
                keys: keys,
                directory: package.directory,
                origin: origin
            )
        }
    }
}
