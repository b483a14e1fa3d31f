// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
package import CarrelMediaSource

/// A source, opened in the form in which it is served.
package enum OpenedSource: Sendable {
    /// A DCF, whose content is a stream of bytes.
    case container
    /// HLS.
    case presentation(any Presentation)

    /// Opens a source; a single file is recognized by its bytes.
    ///
    /// - Parameters:
    ///   - type: the kind of the source, as the caller names it.
    ///   - origin: has the source.
    ///   - settings: of the session.
    ///   - use: gets the terms of the keys of a file.
    /// - Throws: ``ProxyError``; `proxy.unsupported` if a file is of no known kind.
    package init(_ type: MediaSourceType, _ origin: MediaOrigin, _ settings: SessionSettings, _ use: KeyUse) async throws {
        switch type {
        case .dash: self = .presentation(DASHPresentation(origin, settings))
        case .hls: self = .presentation(HLSPresentation(origin, settings))
        case .singleFile: self = try await Self.file(origin, settings, use)
        }
    }

    /// The kind of a source, by its first bytes.
    package enum Beginning: Sendable {
        case playlist, manifest
        /// Media, with the first bytes.
        case media([UInt8])
    }

    /// Looks at the first bytes of a source.
    ///
    /// - Throws: ``ProxyError``.
    package static func sniff(_ origin: MediaOrigin) async throws(ProxyError) -> Beginning {
        let head = try await head(of: origin, length: 64 << 10)
        if head.starts(with: Array("#EXTM3U".utf8)) || head.starts(with: [0xef, 0xbb, 0xbf] + Array("#EXTM3U".utf8)) {
            return .playlist
        }
        let isContainer = head.count >= 12 && head.rawSpan.matches("ftypodcf", at: 4)
        if !isContainer, String(decoding: head.prefix(4096), as: UTF8.self).contains("<MPD") { return .manifest }
        return .media(head)
    }

    private static func file(_ origin: MediaOrigin, _ settings: SessionSettings, _ use: KeyUse) async throws
        -> OpenedSource
    {
        let name = MediaOrigin.shown(origin.address)
        var head: [UInt8]
        switch try await sniff(origin) {
        case .playlist: return .presentation(HLSPresentation(origin, settings))
        case .manifest: return .presentation(DASHPresentation(origin, settings))
        case .media(let bytes): head = bytes
        }
        if head.count >= 12, head.rawSpan.matches("ftypodcf", at: 4) {
            if settings.licenses != nil { try await takeLicenses(in: try await origin.reader(), settings, name) }
            return .container
        }
        let reader = try await origin.reader()
        if head.first == 0x47, head.count > 188, head[188] == 0x47 {
            // the first pictures of a stream may be in the clear
            if !ScrambledSegment.isScrambled(head) { head = try await self.head(of: origin, length: 1 << 20) }
            return .presentation(try await StreamPresentation(reader, name: name, head: head, origin, settings))
        } else if MediaBeginning.isBoxes(head) {
            try await takeLicenses(in: reader, settings, name)
            return .presentation(try await FilePresentation(reader, name: name, isRemote: origin.isRemote, settings, use))
        } else {
            throw ProxyError(
                .unsupported,
                "\(name) is of no kind that the proxy serves",
                recommendation: "Name a playlist, a manifest, an MP4 file, a transport stream or a DCF."
            )
        }
    }

    /// Licenses of one file that are taken, at most.
    private static let licenseLimit = 16

    /// Passes the licenses inside a file to the source of keys, before a key is requested. Licenses of other systems are ignored there.
    private static func takeLicenses(
        in reader: any ByteReader & Sendable,
        _ settings: SessionSettings,
        _ name: String
    ) async throws(ProxyError) {
        guard let receiver = settings.licenses else { return }
        let licenses: [[UInt8]]
        do { licenses = try await settings.threads.run { try MediaFile(reader).licenses } } catch {
            throw ProxyError(error, in: name)
        }
        for license in licenses.prefix(licenseLimit) {
            guard let text = String(validating: license, as: UTF8.self) else { continue }
            await receiver.receive(licenseInFile: text)
        }
    }

    /// The first bytes of the source, however they arrive.
    private static func head(of origin: MediaOrigin, length: Int) async throws(ProxyError) -> [UInt8] {
        let stream = try await origin.open(origin.address, isWhole: true)
        defer { stream.cancel() }
        var bytes: [UInt8] = []
        while bytes.count < length, let piece = try await stream.next() { bytes += piece }
        return bytes
    }
}
