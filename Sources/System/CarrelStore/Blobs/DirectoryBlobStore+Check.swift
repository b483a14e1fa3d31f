// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Glibc

extension OpenBlob {
    private static let pieceSize: Int64 = 1 << 20

    /// Up to 1 MiB from a place on; throws `store.damaged` when the blob became shorter meanwhile.
    fileprivate func piece(at offset: Int64) throws(StoreError) -> [UInt8] {
        try bytes(at: offset, count: Int(min(Self.pieceSize, byteCount - offset)))
    }

    /// Compares the digest of all bytes with a name.
    ///
    /// - Parameters:
    ///   - id: the blob's name.
    ///   - progress: receives the number of bytes of each piece.
    /// - Throws: `store.damaged` if the bytes do not match the name.
    package func verify(_ id: BlobID, progress: ((Int64) -> Void)? = nil) throws(StoreError) {
        var digest = SHA256.Stream()
        var offset: Int64 = 0
        while offset < byteCount {
            let piece = try self.piece(at: offset)
            digest.update(piece.rawSpan)
            offset += Int64(piece.count)
            progress?(Int64(piece.count))
        }
        let contentID = BlobID(digest: digest.finish())
        guard contentID == id else {
            throw StoreError(.damaged, "the blob \(id) holds other bytes than its name says")
        }
    }
}

extension OpenBlob {
    fileprivate func isSound(as id: BlobID) -> Bool {
        do {
            try verify(id)
            return true
        } catch {
            return false
        }
    }
}

extension DirectoryBlobStore {
    /// Replaces a damaged or missing blob with an intact copy.
    ///
    /// The digest of the copy is verified before anything is written. The written bytes then get the name of their own digest, so
    /// a copy that changes meanwhile replaces nothing.
    ///
    /// - Parameters:
    ///   - id: the blob.
    ///   - folder: the folder of another store, or any folder with files named like blobs.
    /// - Returns: false if the folder has no intact copy.
    /// - Throws: `store.full` and the like if the copy cannot be written.
    package func mend(_ id: BlobID, from folder: String) throws(StoreError) -> Bool {
        for path in ["\(folder)/\(id.text.prefix(2))/\(id.text)", "\(folder)/\(id.text)"] {
            let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0, let copy = try? OpenBlob(adopting: descriptor), copy.isSound(as: id) else { continue }
            let target = try writer()
            while target.byteCount < copy.byteCount {
                let piece = try copy.piece(at: target.byteCount)
                try target.append(piece.rawSpan)
            }
            if try target.finish() == id { return true }
        }
        return false
    }
}
