// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDCF
import CarrelMedia
import CarrelPublication

/// The clear bytes of a DCF's object as a resource.
final class ClearContent: RevocableResource {
    let link: Link
    let stream: MediaStream
    private let clock: any WallClock

    /// - Parameters:
    ///   - link: the link of the clear resource.
    ///   - stream: its bytes; closed with the resource.
    ///   - clock: the clock by which the key ends.
    init(_ link: Link, _ stream: MediaStream, clock: any WallClock) {
        self.link = link
        self.stream = stream
        self.clock = clock
    }

    func checkAccess() throws(ResourceError) {
        do throws(MediaError) { try stream.end?.check(at: clock.now) } catch { throw ResourceError(error, link) }
    }

    func length() async throws(ResourceError) -> Int64 { stream.size }

    var lengthHint: LengthHint? { LengthHint(stream.size) }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        var at = max(0, range.lowerBound)
        let end = min(range.upperBound, stream.size)
        do {
            while at < end {
                let bytes = try await stream.read(at..<min(end, at + Int64(MediaStream.readLimit)))
                guard !bytes.isEmpty else { throw ResourceError(.unavailable, "\"\(link.href)\" ended early") }
                buffer += bytes
                at += Int64(bytes.count)
            }
        } catch {
            throw ResourceError(reading: error, link)
        }
    }

    func close() {
        let stream = stream
        Task { await stream.close() }
    }
}

/// An encrypted entry of a container, whose license is looked up at its first read.
final class ClearEntry: RevocableResource {
    let link: Link
    private let entry: any Resource
    private let path: ResourcePath
    private let access: LicenseAccess
    private let content = AsyncLazy<ClearContent>()

    /// - Parameters:
    ///   - entry: the entry, a DCF.
    ///   - path: its path.
    ///   - access: the licenses of the publication.
    init(_ entry: any Resource, _ path: ResourcePath, _ access: LicenseAccess) {
        link = entry.link
        self.entry = entry
        self.path = path
        self.access = access
    }

    /// Opens the entry; counts nothing.
    private func clear() async throws(ResourceError) -> ClearContent {
        try await content.value { [link, entry, path, access] () async throws(ResourceError) in
            do {
                guard let file = try await ProtectedFile(entry) else {
                    throw ResourceError(.decryption, "\"\(link.href)\" is encrypted by an unknown technology")
                }
                let stream = try await access.open(file, at: path)
                return ClearContent(link, stream, clock: access.clock)
            } catch {
                throw ResourceError(reading: error, link)
            }
        }
    }

    func checkAccess() throws(ResourceError) { try content.made?.checkAccess() }

    func length() async throws(ResourceError) -> Int64 { try await clear().length() }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        try await clear().read(range, into: &buffer)
    }

    func close() {
        content.made?.close()
        entry.close()
    }
}

extension ResourceError {
    /// An error of reading a protected resource.
    init(reading error: any Error, _ link: Link) {
        switch error {
        case let error as ResourceError: self = error
        case let error as MediaError: self.init(error, link)
        case let error as Malformed: self.init(.decryption, "\"\(link.href)\" is damaged: \(error)")
        case is CancellationError: self.init(.cancelled, "reading \"\(link.href)\" was cancelled")
        default: self.init(.unavailable, "\"\(link.href)\" cannot be read")
        }
    }

    init(_ error: MediaError, _ link: Link) {
        switch error.code {
        case .altered, .malformed, .wrongKey: self.init(.decryption, "\"\(link.href)\" cannot be decrypted: \(error.message)")
        case .expiredKey, .refusedKey, .missingKey, .outputControl: self.init(.forbidden, error.message)
        default: self.init(.unavailable, "\"\(link.href)\" cannot be read: \(error.message)")
        }
    }
}
