// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON

/// Seals the sources of items: addresses may contain tickets, and tokens and header fields are secrets.
struct JournalSeal: Sendable {
    /// The sealed part of an item.
    struct Content: Sendable {
        var source: DownloadSource
        var selection: DownloadSelection
    }

    private let key: Secret
    private let index: HMACSHA256

    /// - Parameter key: 32 bytes, a row of the player's store.
    init(key: Secret) {
        self.key = HKDF.sha256(secret: key, salt: [], info: "carrel downloads seal 1", count: AESGCM.keyByteCount)
        index = HMACSHA256(key: HKDF.sha256(secret: key, salt: [], info: "carrel downloads index 1", count: 32))
    }

    /// The digest that finds an item by the address of its source: 16 bytes.
    func digest(_ address: String) -> [UInt8] {
        let message = Array("source\n\(address.prefix { $0 != "#" })".utf8)
        return Array(index.authenticate(message.rawSpan).prefix(16))
    }

    private static func place(_ id: String) -> [UInt8] { Array("download \(id)".utf8) }

    func seal(_ content: Content, of id: String) throws(DownloadError) -> [UInt8] {
        let source = content.source
        var object: JSONObject = [
            "title": .string(source.title), "address": .string(source.address), "server": .string(source.licenseServer),
            "certificate": .string(source.certificateURL), "clearKey": .string(source.clearKeyServer),
            "http": .bool(source.allowsPlainHTTP),
            "private": .bool(source.allowsPrivateNetworks),
            "fields": .array(source.originFields.map { ["name": .string($0.name), "value": .string($0.value)] }),
            "audio": content.selection.audio.json, "subtitles": content.selection.subtitles.json,
            "bitrate": .integer(content.selection.minimumBitrate),
        ]
        object["token"] = source.licenseToken.map { token in
            token.withBytes { .string(String(decoding: [UInt8](copying: $0), as: UTF8.self)) }
        }
        let plaintext = JSON.object(object).write()
        let nonce = Random.bytes(AESGCM.nonceByteCount)
        do throws(CryptoError) {
            return nonce + (try AESGCM.seal(plaintext.rawSpan, key: key, nonce: nonce, associated: Self.place(id)))
        } catch {
            throw DownloadError(.journal, "the source of a download cannot be sealed: \(error.message)")
        }
    }

    /// - Throws: `download.journal` for an altered row, and for one of another item or another journal.
    func open(_ bytes: [UInt8], of id: String) throws(DownloadError) -> Content {
        let damaged = DownloadError(.journal, "the source of download \(id) was altered, or belongs to another journal")
        guard bytes.count > AESGCM.nonceByteCount else { throw damaged }
        let nonce = Array(bytes.prefix(AESGCM.nonceByteCount))
        let secret: Secret
        do throws(CryptoError) {
            let sealed = bytes.rawSpan.extracting(AESGCM.nonceByteCount..<bytes.count)
            secret = try AESGCM.open(sealed, key: key, nonce: nonce, associated: Self.place(id))
        } catch {
            throw damaged
        }
        let json = secret.withBytes { try? JSON.parse($0, limits: JSONLimits(depth: 4, byteCount: 1 << 20)) }
        guard let json, let title = json["title"]?.string, let address = json["address"]?.string else { throw damaged }
        var source = DownloadSource(address, title: title)
        source.licenseServer = json["server"]?.string ?? ""
        source.certificateURL = json["certificate"]?.string ?? ""
        source.clearKeyServer = json["clearKey"]?.string ?? ""
        source.setLicenseToken(json["token"]?.string)
        source.allowsPlainHTTP = json["http"]?.bool ?? false
        source.allowsPrivateNetworks = json["private"]?.bool ?? false
        for field in json["fields"]?.array ?? [] {
            guard let name = field["name"]?.string, let value = field["value"]?.string else { throw damaged }
            source.originFields.append(name, value)
        }
        var selection = DownloadSelection()
        selection.audio = .init(json["audio"])
        selection.subtitles = .init(json["subtitles"])
        selection.minimumBitrate = json["bitrate"]?.int ?? DownloadSelection.defaultMinimumBitrate
        return Content(source: source, selection: selection)
    }
}

extension DownloadSelection.Languages {
    /// A word, or a list of languages.
    fileprivate var json: JSON {
        switch self {
        case .defaults: "defaults"
        case .none: "none"
        case .all: "all"
        case .chosen(let languages): .array(languages.map { .string($0) })
        }
    }

    fileprivate init(_ json: JSON?) {
        switch json?.string {
        case "none": self = .none
        case "all": self = .all
        default: self = json?.array.map { .chosen($0.compactMap(\.string)) } ?? .defaults
        }
    }
}
