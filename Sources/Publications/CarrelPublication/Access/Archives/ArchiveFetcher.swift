// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes

extension Fetcher {
    /// The archive that contains all resources; nil if they come from something else.
    var underlyingArchive: ArchiveFetcher? {
        (self as? ArchiveFetcher) ?? (self as? any WrappingFetcher)?.wrapped.underlyingArchive
    }
}

/// The entries of a ZIP archive, in any resource: a file, or a server that supports ranges.
///
/// Reads in parallel: stored entries are parts of the archive, compressed entries are decompressed while they are read. It is
/// more lenient than the ingest of a catalog: an entry with an invalid name is omitted with a warning, and the first of two
/// entries with the same name counts.
public final class ArchiveFetcher: Fetcher, DocumentedFetcher {
    let documents = ContainerDocuments()
    let archive: any Resource
    /// In the order of the directory.
    let entries: [DirectoryEntry]
    /// The index of each path in the entries.
    private let places: [ResourcePath: Int]

    /// Entries at most.
    public static let entryLimit = 100_000

    /// Reads the directory of an archive: its end, and the rest of the directory if necessary.
    ///
    /// - Parameters:
    ///   - archive: the archive; closed with the fetcher.
    ///   - warnings: receives omitted entries.
    /// - Throws: `resource.malformed` for other data; errors of reading the archive.
    public init(_ archive: any Resource, warnings: (any WarningLogger)? = nil) async throws(ResourceError) {
        let directory = try await Self.settledDirectory(of: archive)
        let warnings = Warnings(warnings)
        var entries: [DirectoryEntry] = []
        entries.reserveCapacity(directory.records.count)
        var places: [ResourcePath: Int] = [:]
        places.reserveCapacity(directory.records.count)
        for record in directory.records where ArchiveName.withSlashes(record.rawName).last != UInt8(ascii: "/") {
            guard let path = Self.path(record.rawName, isUTF8: record.flags & 0x800 != 0) else {
                warnings.add(
                    .moderate,
                    "entry \(ArchiveName.printable(record.rawName)) is left out, because its name leads out of the archive"
                )
                continue
            }
            // an existing place is kept
            places[path, default: entries.count] += 0
            guard places.count > entries.count else {
                warnings.add(.moderate, "two entries are called \"\(path)\"; the first counts")
                continue
            }
            entries.append(
                DirectoryEntry(
                    path: path,
                    rawName: record.rawName,
                    offset: record.offset,
                    packedSize: record.packedSize,
                    size: record.size,
                    method: record.method,
                    flags: record.flags,
                    time: record.time,
                    crc: record.crc,
                    aes: record.aes
                )
            )
        }
        self.archive = archive
        self.entries = entries
        self.places = places
    }

    public func links() async throws(ResourceError) -> [Link] { entries.map { Link($0.path) } }

    public func paths() async throws(ResourceError) -> [ResourcePath] { entries.map(\.path) }

    public func get(_ link: Link) -> any Resource {
        guard let path = link.path, let entry = entry(at: path) else { return FailingResource.notFound(link) }
        return EntryResource(link, entry, of: archive)
    }

    public func storedLength(of link: Link) -> LengthHint? {
        link.path.flatMap { places[$0] }.map { LengthHint(entries[$0].packedSize) }
    }

    public func close() { archive.close() }

    /// The index of the entry of a name; nil for a folder, and for a path out of the archive.
    static func path(_ rawName: [UInt8], isUTF8: Bool = false) -> ResourcePath? {
        let (slash, name) = (UInt8(ascii: "/"), ArchiveName.withSlashes(rawName))
        guard name.first != slash, name.last != slash else { return nil }
        return ResourcePath(decoded: ArchiveName.text(name, isUTF8: isUTF8))
    }

    /// The entry at a path.
    func entry(at path: ResourcePath) -> DirectoryEntry? { places[path].map { entries[$0] } }

    /// The smallest of the entries that need a password and have content; nil when none does.
    var smallestEncrypted: DirectoryEntry? {
        entries.filter { $0.isEncrypted && $0.size > 0 }.min { ($0.packedSize, $0.offset) < ($1.packedSize, $1.offset) }
    }

    /// Whether any entry needs a password.
    var isEncrypted: Bool { entries.contains(where: \.isEncrypted) }

    /// Reads the directory of an archive into which another process may be writing a license: the end moves when the new
    /// directory is written (``LicenseInjection``), and the file grows.
    private static func settledDirectory(of archive: any Resource) async throws(ResourceError) -> CentralDirectory {
        for _ in 0..<4 {
            let length = try await archive.length()
            do throws(ResourceError) {
                return try await directory(of: archive)
            } catch {
                guard let file = archive as? FileResource, file.hasGrown(beyond: length) else { throw error }
            }
        }
        return try await directory(of: archive)
    }

    /// Reads the directory in as few requests as possible, usually one.
    private static func directory(of archive: any Resource) async throws(ResourceError) -> CentralDirectory {
        let length = try await archive.length()
        var window = ArchiveWindow(length: length)
        var wanted = max(0, length - ArchiveWindow.tail)..<length
        for _ in 0..<4 {
            window.add(wanted, try await archive.read(wanted))
            do throws(ArchiveError) {
                let directory = try CentralDirectory(window, limit: entryLimit)
                try directory.checkExtents()
                return directory
            } catch {
                guard let missing = window.missing else {
                    throw ResourceError(error.code == .tooManyEntries ? .tooLarge : .malformed, error.message)
                }
                guard missing.count <= ArchiveWindow.limit else {
                    throw ResourceError(.tooLarge, "the archive's directory is too large")
                }
                wanted = missing
            }
        }
        throw ResourceError(.malformed, "the archive's directory cannot be found")
    }
}
