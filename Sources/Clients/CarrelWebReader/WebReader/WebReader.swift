// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelLoopback
public import CarrelReader
public import CarrelPublication

/// A reader for opened publications in the user's own browser: a page that this process serves to the user who runs it.
///
/// Places, highlights and notes are kept in a folder, not in the browser, whose storage would be another at each start.
public final class WebReader: Sendable {
    private let server: PublicationServer

    /// A reader that does not listen yet.
    ///
    /// - Parameters:
    ///   - publication: stays the caller's to close, after the reader has stopped.
    ///   - folder: for places, highlights and notes; made when it is not there, for its owner alone.
    ///   - port: of 127.0.0.1; 0 for any that is free.
    /// - Throws: `reader.restricted` for a restricted publication, `reader.store` when the folder cannot
    ///   be used, `opening.parsing-failed` for one with nothing to read.
    public convenience init(_ publication: Publication, folder: String, port: UInt16 = 0) async throws {
        try await self.init(publication, folder: folder, port: port, recordLimit: ReadingRecords.sizeLimit, poppler: Poppler())
    }

    /// A reader with a limit of bytes for highlights and notes, and programs that draw pages.
    init(
        _ publication: Publication,
        folder: String,
        port: UInt16 = 0,
        recordLimit: Int = ReadingRecords.sizeLimit,
        poppler: Poppler
    ) async throws {
        do throws(Publication.OpeningError) { _ = try Navigator(publication) } catch {
            guard publication.isRestricted else { throw error }
            throw ReaderError(.restricted, error.message)
        }
        let records = try ReadingRecords(folder: folder, publication: publication, limit: recordLimit)
        _ = try await records.record()
        let session = ReadingSession(publication, isRead: true)
        server = PublicationServer(session, port: port, open: ["assets"]) { router in
            ReaderPages(session: session).add(to: &router)
            let drawn = DrawnDocuments(publication, poppler)
            ReaderRoutes(session: session, records: records, drawn: drawn).add(to: &router)
        }
    }

    /// Listens. Once.
    ///
    /// - Returns: the address of the reader's page, a secret of its user.
    /// - Throws: `reader.server` when the port is taken.
    public func start() throws(ReaderError) -> String {
        let publication = try server.start().publication
        let origin = publication.split(separator: "/").prefix(2).joined(separator: "//")
        return "\(origin)/read/\(server.session.control.text)/"
    }

    /// Stops listening and cuts what is under way after a short grace.
    public func stop() async { await server.stop() }
}
