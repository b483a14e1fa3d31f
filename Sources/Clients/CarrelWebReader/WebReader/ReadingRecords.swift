// SPDX-License-Identifier: Apache-2.0

import CarrelReader
import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelPublication
import CarrelThreads
import Glibc

/// Stores a reader's notes, positions and settings in a folder that only the reader's user can access: for each publication a
/// file with notes and a short one with the position, and one file with the settings.
///
/// A file is read again before each change, under a lock, so that two windows or readers do not undo each other's changes.
final class ReadingRecords: Sendable {
    private let file: PrivateFile
    private let placeFile: PrivateFile
    private let preferenceFile: PrivateFile
    /// One, so that changes happen one after another.
    private let thread = BlockingThreadPool(name: "carrel-reader", count: 1)

    static let sizeLimit = 64 << 20
    private static let placeLimit = 256 << 10
    private static let preferenceLimit = 64 << 10

    /// - Parameters:
    ///   - folder: the folder, created if it is missing.
    ///   - publication: the publication of the record.
    ///   - limit: maximum size of highlights and notes in bytes.
    /// - Throws: `reader.store` if the folder cannot be created.
    init(folder: String, publication: Publication, limit: Int = sizeLimit) throws(ReaderError) {
        var path = folder.hasPrefix("/") ? "/" : ""
        for part in folder.split(separator: "/") {
            path += path.isEmpty || path == "/" ? String(part) : "/\(part)"
            guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
                let reason = unsafe String(cString: strerror(errno))
                throw ReaderError(.store, "the folder \(path) cannot be made: \(reason)")
            }
        }
        let name = "\(path)/\(Self.name(of: publication))"
        file = PrivateFile(path: "\(name).json", limit: limit, name: "file with highlights and notes")
        placeFile = PrivateFile(path: "\(name).place.json", limit: Self.placeLimit, name: "file with the place")
        preferenceFile = PrivateFile(path: "\(path)/preferences.json", limit: Self.preferenceLimit, name: "file with preferences")
    }

    func record() async throws -> ReadingRecord {
        let file = file
        return try await thread.run { try Self.load(file) }
    }

    /// Changes the record and writes it.
    ///
    /// - Parameter change: gets the current record on the disk; returns false to leave it unchanged.
    /// - Returns: the result of `change`; also false if the record would be too long, which leaves it unchanged.
    /// - Throws: `reader.store`.
    func update(_ change: @escaping @Sendable (inout ReadingRecord) -> Bool) async throws -> Bool {
        let file = file
        return try await thread.run {
            try file.locked {
                var record = try Self.load(file)
                guard change(&record) else { return false }
                let bytes = record.json.write()
                guard bytes.count <= file.limit else { return false }
                try file.save(bytes)
                return true
            }
        }
    }

    /// The reader's last position; nil at the beginning, or if it cannot be read: it is soon written again.
    func place() async throws -> Locator? {
        let file = placeFile
        return try await thread.run {
            guard let bytes = try file.load(), let json = try? JSON.parse(bytes.rawSpan) else { return nil }
            return Locator(json)
        }
    }

    func setPlace(_ place: Locator) async throws {
        let file = placeFile
        try await thread.run { try file.locked { try file.save(place.json.write()) } }
    }

    /// How pages look; an object of the page's own.
    func preferences() async throws -> JSON {
        let file = preferenceFile
        return try await thread.run {
            // an unreadable file is replaced by the defaults
            guard let bytes = try file.load(), let json = try? JSON.parse(bytes.rawSpan), json.object != nil else { return [:] }
            return json
        }
    }

    func setPreferences(_ json: JSON) async throws {
        let file = preferenceFile
        try await thread.run { try file.locked { try file.save(json.write()) } }
    }

    private static func load(_ file: PrivateFile) throws -> ReadingRecord {
        guard let bytes = try file.load() else { return ReadingRecord() }
        do {
            return ReadingRecord(try JSON.parse(bytes.rawSpan, limits: JSONLimits(byteCount: file.limit)))
        } catch {
            throw ReaderError(.store, "the \(file.name) cannot be read: \(error); move \(file.path) away to start again")
        }
    }

    /// The file name, which is the same for every copy of a publication: from its identifier, its title and its reading order.
    /// The identifier alone is chosen by the publisher, and others can use it.
    private static func name(of publication: Publication) -> String {
        let key =
            "\(publication.metadata.identifier ?? "")\n\(publication.metadata.title)\n"
            + publication.readingOrder.map(\.href).joined(separator: "\n")
        return Hex.encode(SHA256.hash(Array(key.utf8).rawSpan).prefix(16))
    }
}
