// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFiles
import CarrelJSON

/// The sealed item that authenticates a package: its id, its source, and the digests of its tables.
struct PackageIndex: Sendable {
    var id: String
    var source: SavedSource
    /// The valid digests of each table: while a package is completed, those before and after.
    var tables: [String: [[UInt8]]] = [:]

    static let name = "Data/" + PlainName.item(0)
    private static let limit = 1 << 20

    init(id: String, source: SavedSource) {
        self.id = id
        self.source = source
    }

    // MARK: - Reading

    /// Reads the index of a package.
    ///
    /// - Throws: `saved.missing`; `saved.damaged` if it was altered, or sealed for another package or under another key; `saved.format`.
    init(in folder: PackageFolder, _ keys: PackageKeys) throws(SavedMediaError) {
        let file = try folder.open(Self.name)
        guard file.size <= Int64(Self.limit) else { throw Self.malformed("it is too long") }
        let bytes: [UInt8]
        do throws(SavedMediaError) {
            bytes = try SealedFile(file, name: Self.name, keys).readAll()
        } catch {
            guard error.code == .damaged else { throw error }
            throw SavedMediaError(.damaged, "\(Self.name) was altered, or is of another package than \(keys.id)")
        }
        let json: JSON
        do throws(Malformed) { json = try JSON.parse(bytes.rawSpan) } catch { throw Self.malformed(error.description) }
        guard let id = json["id"]?.string, id == keys.id, let source = json["source"].flatMap({ SavedSource($0) }),
            let tables = json["tables"]?.object
        else { throw Self.malformed("a member is absent") }
        self.init(id: id, source: source)
        for (name, digests) in tables {
            self.tables[name] = digests.array?.compactMap { $0.string.flatMap { Hex.decode($0) } } ?? []
        }
    }

    private static func malformed(_ what: String) -> SavedMediaError { BootImage.fault(name, what) }

    /// Checks a table.
    ///
    /// - Parameters:
    ///   - name: its name in the package.
    ///   - bytes: the file.
    /// - Throws: `saved.damaged` if its digest is not one of this index.
    func check(_ name: String, _ bytes: [UInt8]) throws(SavedMediaError) {
        let digest = SHA256.hash(bytes.rawSpan)
        guard tables[name]?.contains(digest) == true else {
            throw SavedMediaError(.damaged, "\(name) is damaged: it is not the table of package \(id)")
        }
    }

    // MARK: - Writing

    /// The content of the item.
    func written() -> [UInt8] {
        let tables = tables.sorted { $0.key < $1.key }
            .map { ($0.key, JSON.array($0.value.map { JSON.string(Hex.encode($0)) })) }
        let json: JSON = ["id": .string(id), "source": source.json, "tables": .object(JSONObject(tables))]
        return json.write()
    }
}

extension SavedSource {
    init?(_ json: JSON) {
        guard let address = json["address"]?.string, let form = json["form"]?.string.flatMap({ Form(rawValue: $0) }) else {
            return nil
        }
        self.init(address: address, form: form)
        contentType = json["contentType"]?.string
        durationSeconds = json["durationSeconds"]?.double
        indexAddress = json["indexAddress"]?.string
        if let member = json["subtitles"], let name = member["name"]?.string, let language = member["language"]?.string,
            let address = member["address"]?.string
        {
            subtitles = Subtitles(name: name, language: language, address: address)
        }
        for track in json["tracks"]?.array ?? [] {
            guard let set = track.array?.first?.int, let representation = track.array?.last?.int else { return nil }
            tracks.append(SavedTrack(adaptationSet: set, representation: representation))
        }
    }

    var json: JSON {
        var members: [(String, JSON)] = [("address", .string(address)), ("form", .string(form.rawValue))]
        if let contentType { members.append(("contentType", .string(contentType))) }
        if let durationSeconds { members.append(("durationSeconds", .real(durationSeconds))) }
        if let indexAddress { members.append(("indexAddress", .string(indexAddress))) }
        if let subtitles {
            let member: JSON = [
                "name": .string(subtitles.name), "language": .string(subtitles.language), "address": .string(subtitles.address),
            ]
            members.append(("subtitles", member))
        }
        if !tracks.isEmpty {
            let positions = tracks.map { JSON.array([.integer($0.adaptationSet), .integer($0.representation)]) }
            members.append(("tracks", .array(positions)))
        }
        return .object(JSONObject(members))
    }
}
