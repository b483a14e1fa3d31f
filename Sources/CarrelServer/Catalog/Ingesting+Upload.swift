import CarrelHTTP
import CarrelIngest
import CarrelThreads
import Glibc

extension Ingesting {
    /// Bytes of one uploaded source.
    static let uploadLimit: Int64 = 8 << 30

    /// Writing waits for the disk when much is written.
    static let uploads = BlockingThreads(name: "upload", count: 2)

    /// Writes the body of a request, of at most `limit` bytes, to a file in the scratch folder, which is the caller's to remove.
    func receive(_ request: HTTPRequest, limit: Int64 = uploadLimit) async throws -> String {
        if let length = request.body.length, Int64(length) > limit { throw Self.tooLarge(limit) }
        let path = try work.scratch.newName()
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ServerError(.home, "the upload cannot be kept: \(reason(errno))") }
        defer { close(descriptor) }
        var received: Int64 = 0
        do {
            while let chunk = try await request.body.next() {
                received += Int64(chunk.count)
                guard received <= limit else { throw Self.tooLarge(limit) }
                let written = try await Self.uploads.run {
                    unsafe chunk.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
                }
                guard written == chunk.count else {
                    throw HTTPError(.insufficientStorage, "ingest.full", "there is no room for the upload")
                }
            }
        } catch {
            unsafe unlink(path)
            throw error
        }
        return path
    }

    private static func tooLarge(_ limit: Int64) -> HTTPError {
        HTTPError(.contentTooLarge, "request.too-large", "such an upload has at most \(limit >> 20) MiB")
    }
}

extension HTTPError {
    /// What an uploader is told of a source that was not taken.
    init(upload error: IngestError) {
        // Words for the command line name the home and its options, which are not a client's.
        let hint = error.code == .truncated ? "allowTruncated=true takes what is usable" : error.hint
        self.init(
            error.code == .full ? .insufficientStorage : .unprocessableContent,
            error.code.rawValue,
            error.code == .full ? "there is no room for the upload" : "the upload \(error.detail)",
            extra: hint.map { [("hint", $0)] } ?? []
        )
    }
}
