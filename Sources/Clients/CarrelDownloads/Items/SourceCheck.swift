// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMediaSource
import CarrelReader

/// Checks of a caller's parameters.
enum SourceCheck {
    private static let titleLimit = 1024
    private static let addressLimit = 16 << 10

    /// - Throws: `download.usage`, `download.not-storable`.
    static func check(_ source: DownloadSource, _ settings: DownloadSettings) throws(DownloadError) {
        guard !source.address.isEmpty, source.address.utf8.count <= addressLimit else {
            throw DownloadError(.usage, "the address of the source is empty, or longer than \(addressLimit) bytes")
        }
        guard source.address.prefix(4).lowercased() != "ms3:", source.address.prefix(5).lowercased() != "ms3s:" else {
            throw DownloadError(.notStorable, "MS3 addresses cannot be saved: their licenses must not be stored")
        }
        guard source.title.utf8.count <= titleLimit else {
            throw DownloadError(.usage, "the title is longer than \(titleLimit) bytes")
        }
        guard settings.limits.bytesPerSecond ?? 1 > 0, 1...64 ~= settings.limits.connections ?? 1 else {
            throw DownloadError(.usage, "a bandwidth limit is at least 1 byte a second, a connection limit from 1 to 64")
        }
        let languages = [settings.selection.audio, settings.selection.subtitles].flatMap { languages -> [String] in
            if case .chosen(let languages) = languages { languages } else { [] }
        }
        guard languages.count <= 64, languages.allSatisfy({ 1...64 ~= $0.utf8.count }) else {
            throw DownloadError(.usage, "there are more than 64 languages, or one is not a language tag")
        }
        guard settings.selection.minimumBitrate >= 0, settings.requirements.freeSpace >= 0 else {
            throw DownloadError(.usage, "a bit rate or a size is negative")
        }
        var parameters = MediaSourceParameters()
        parameters.originFields = source.originFields
        do throws(ProxyError) { try parameters.check() } catch { throw DownloadError(.usage, error.message) }
    }

    /// The title of a source without one: the last part of its address, or its host if that could be a ticket.
    static func title(of address: String) -> String {
        guard MediaOrigin.isURL(address) else {
            return String((address.split(separator: "/").last ?? "download").prefix(128))
        }
        let reference = URIReference(address)
        let name = reference.path.split(separator: "/").last.map { URIReference.percentDecoded($0) ?? String($0) } ?? ""
        let isPlain = !name.isEmpty && Trace.Value.name(name).description == name
        return String((isPlain ? name : reference.authority.map { String($0) } ?? "download").prefix(128))
    }
}
