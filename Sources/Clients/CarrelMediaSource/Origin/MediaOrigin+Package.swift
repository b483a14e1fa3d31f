// SPDX-License-Identifier: Apache-2.0

import CarrelMP4
import CarrelSavedMedia
import CarrelThreads

extension MediaOrigin {
    /// Opens a document of a package, or its media.
    ///
    /// - Throws: `proxy.saved-missing`, `proxy.saved-damaged`, `proxy.busy`.
    static func open(
        _ reference: String,
        _ range: Range<Int64>?,
        in package: SavedPackage
    ) async throws(ProxyError) -> OriginStream {
        let name = shown(reference)
        do {
            return try await OriginStream.threads.run {
                if let document = try package.document(reference, range: range) { return OriginStream(document, name: name) }
                return OriginStream(try package.bytes(reference, range: range), name: name)
            }
        } catch {
            throw ProxyError(error, in: name)
        }
    }

    /// Bytes of a resource of a package.
    ///
    /// - Throws: `proxy.saved-missing` if the package does not have all of it; `proxy.saved-damaged`, `proxy.busy`.
    static func length(of address: String, in package: SavedPackage) async throws(ProxyError) -> Int64 {
        let name = shown(address)
        let length: Int64?
        do { length = try await OriginStream.threads.run { try package.length(of: address) } } catch {
            throw ProxyError(error, in: name)
        }
        guard let length else { throw ProxyError(.savedMissing, "\(name): the package does not have all of the file") }
        return length
    }
}

/// A file of a package, for readers by ranges.
struct SavedReader: ByteReader, Sendable {
    private let package: SavedPackage
    private let address: String
    let length: Int64

    init(_ package: SavedPackage, _ address: String, length: Int64) {
        self.package = package
        self.address = address
        self.length = length
    }

    func read(_ range: Range<Int64>) throws -> [UInt8] {
        guard !range.isEmpty else { return [] }
        do throws(SavedMediaError) {
            let stream = try package.bytes(address, range: range)
            var bytes: [UInt8] = []
            while let piece = try stream.next() {
                if bytes.isEmpty { bytes = piece } else { bytes += piece }
            }
            return bytes
        } catch {
            throw ProxyError(error, in: MediaOrigin.shown(address))
        }
    }
}
