import CarrelReader
import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelPublication
import CarrelThreads
import Glibc

/// Keeps what a reader leaves in publications, and how the reader likes pages: one file for each publication, one for the settings, in
/// a folder that is the reader's alone.
///
/// A file is read anew before each change, under a lock, so that of two windows or readers on one publication neither undoes what the
/// other did.
final class ReadingRecords: Sendable {
    private let file: PrivateFile
    private let preferenceFile: PrivateFile
    /// One, so that changes happen one after another.
    private let thread = BlockingThreads(name: "carrel-reader", count: 1)

    private static let sizeLimit = 64 << 20
    private static let preferenceLimit = 64 << 10

    /// - Parameters:
    ///   - folder: made when it is not there.
    ///   - publication: whose record it is.
    /// - Throws: `reader.store` when the folder cannot be made.
    init(folder: String, publication: Publication) throws(ReaderError) {
        var path = folder.hasPrefix("/") ? "/" : ""
        for part in folder.split(separator: "/") {
            path += path.isEmpty || path == "/" ? String(part) : "/\(part)"
            guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
                let reason = unsafe String(cString: strerror(errno))
                throw ReaderError(.store, "the folder \(path) cannot be made: \(reason)")
            }
        }
        file = PrivateFile(
            path: "\(path)/\(Self.name(of: publication)).json",
            limit: Self.sizeLimit,
            name: "file with places and notes"
        )
        preferenceFile = PrivateFile(path: "\(path)/preferences.json", limit: Self.preferenceLimit, name: "file with preferences")
    }

    func record() async throws -> ReadingRecord {
        let file = file
        return try await thread.run { try Self.load(file) }
    }

    /// Changes the record and writes it.
    ///
    /// - Parameter change: gets the record as it is on the disk; false leaves that as it is.
    /// - Returns: what `change` returned.
    /// - Throws: `reader.store`.
    func update(_ change: @escaping @Sendable (inout ReadingRecord) -> Bool) async throws -> Bool {
        let file = file
        return try await thread.run {
            try file.locked {
                var record = try Self.load(file)
                guard change(&record) else { return false }
                try file.save(record.json.write())
                return true
            }
        }
    }

    /// How pages look; an object of the page's own.
    func preferences() async throws -> JSON {
        let file = preferenceFile
        return try await thread.run {
            // what cannot be read is not worth more than the defaults
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
            return ReadingRecord(try JSON.parse(bytes.rawSpan, limits: JSONLimits(byteCount: sizeLimit)))
        } catch {
            throw ReaderError(.store, "the \(file.name) cannot be read: \(error); move \(file.path) away to begin anew")
        }
    }

    /// The same for every copy of a publication: of its identifier, its title and its reading order. The identifier
    /// alone is the word of whoever made the publication, and others can say it.
    private static func name(of publication: Publication) -> String {
        let key =
            "\(publication.metadata.identifier ?? "")\n\(publication.metadata.title)\n"
            + publication.readingOrder.map(\.href).joined(separator: "\n")
        return Hex.encode(SHA256.hash(Array(key.utf8).rawSpan).prefix(16))
    }
}
