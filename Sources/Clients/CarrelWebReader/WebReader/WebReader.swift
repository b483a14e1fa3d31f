// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelLoopback
public import CarrelReader
public import CarrelPublication

/// A reader for opened publications in the user's own browser: a page that this process serves to the user who runs it.
///
/// Positions, highlights and notes are stored in a folder rather than in the browser, whose storage differs at each start.
public final class WebReader: Sendable {
    private let server: PublicationServer

    /// Creates a reader; call `start()` to listen.
    ///
    /// - Parameters:
    ///   - publication: remains the caller's to close, after the reader has stopped.
    ///   - folder: for positions, highlights and notes; created if it is missing, for its owner alone.
    ///   - port: a port of 127.0.0.1; 0 for any free port.
    /// - Throws: `reader.restricted` for a restricted publication, `reader.store` if the folder cannot be used,
    ///   `opening.parsing-failed` for a publication with nothing to read.
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
    /// - Throws: `reader.server` if the port is taken.
    public func start() throws(ReaderError) -> String {
        let publication = try server.start().publication
        let origin = publication.split(separator: "/").prefix(2).joined(separator: "//")
        return "\(origin)/read/\(server.session.control.text)/"
    }

    /// Stops listening, and aborts open responses after a short grace period.
    public func stop() async { await server.stop() }
}
