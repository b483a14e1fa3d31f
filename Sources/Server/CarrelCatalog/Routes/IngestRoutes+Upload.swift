// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
package import CarrelIngest
import CarrelJSON
import CarrelThreads
import CarrelWebAPI
import Glibc

extension IngestService {
    /// The maximum size of an uploaded source in bytes.
    static let uploadLimit: Int64 = 8 << 30

    /// Writing waits for the disk when much is written.
    static let uploads = BlockingThreadPool(name: "upload", count: 2)

    /// Writes the body of a request, of at most `limit` bytes, to a file in the scratch folder, which is the caller's to remove.
    private func receive(_ request: HTTPRequest, limit: Int64) async throws -> String {
        if let length = request.body.length, Int64(length) > limit { throw Self.tooLarge(limit) }
        let path = try work.scratch.newName()
        var received: Int64 = 0
        do {
            let file = try UploadFile(at: path)
            while let chunk = try await request.body.next() {
                received += Int64(chunk.count)
                guard received <= limit else { throw Self.tooLarge(limit) }
                try await Self.uploads.run { try file.append(chunk) }
            }
        } catch let error as IngestError {
            unsafe unlink(path)
            throw HTTPError(upload: error)
        } catch {
            unsafe unlink(path)
            throw error
        }
        return path
    }

    /// Works on the body of a request, which is in a file meanwhile.
    ///
    /// - Parameters:
    ///   - request: the upload.
    ///   - limit: bytes of the body at most.
    ///   - work: called with the path of the file.
    /// - Returns: what `work` returns.
    /// - Throws: ``HTTPError`` if the upload is refused; what `work` throws.
    func withUpload<Result>(
        _ request: HTTPRequest,
        limit: Int64 = uploadLimit,
        _ work: (_ path: String) async throws -> Result
    ) async throws -> Result {
        let path = try await receive(request, limit: limit)
        defer { unsafe unlink(path) }
        do {
            return try await work(path)
        } catch let error as IngestError {
            throw HTTPError(upload: error)
        }
    }

    private static func tooLarge(_ limit: Int64) -> HTTPError {
        HTTPError(.contentTooLarge, "request.too-large", "the upload is larger than \(limit >> 20) MiB")
    }
}

/// A scratch file for the threads that wait for the disk.
private final class UploadFile: Sendable {
    private let file: ScratchFile

    init(at path: String) throws(IngestError) {
        file = try ScratchFile(at: path, name: "the upload")
    }

    func append(_ chunk: [UInt8]) throws(IngestError) {
        try file.append(chunk.rawSpan)
    }
}

extension HTTPError {
    /// The error response for an upload that was refused.
    package init(upload error: IngestError) {
        // Words for the command line name the home and its options, which are not a client's.
        let hint = error.code == .truncated && error.hint != nil ? "allowTruncated=true keeps the usable part" : error.hint
        // The state of the server's disk is not reported to clients.
        if error.code == .scratch {
            self.init(.internalServerError, .init(error.code), "the server could not store the upload")
            return
        }
        self.init(
            error.code == .full ? .insufficientStorage : .unprocessableContent,
            .init(error.code),
            error.code == .full ? "there is no disk space for the upload" : "the upload \(error.reason)",
            extra: hint.map { [("hint", .text($0))] } ?? []
        )
    }
}

extension IngestPipeline.Outcome {
    /// The response to an upload.
    ///
    /// - Parameter entry: the entry of the catalog as JSON.
    /// - Returns: 201 for a new entry, else 200.
    func response(_ entry: JSONObject) -> HTTPResponse {
        .json(
            [
                "titles": [.object(entry)], "created": .bool(created), "replaced": .bool(change == .replaced),
                "warnings": .array(warnings.map { .string($0) }),
            ],
            status: created ? .created : .ok
        )
    }
}
