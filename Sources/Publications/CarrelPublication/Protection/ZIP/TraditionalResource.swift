// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelThreads

/// The bytes of an entry with traditional encryption, decrypted. What is read from a place begins at the last mark before it.
final class TraditionalResource: Resource {
    var link: Link { encrypted.link }
    private let encrypted: any Resource
    private let byteCount: Int64
    private let interval: Int64
    /// The state of the cipher at each multiple of the interval, as far as reading has been.
    private let marks: Locked<[TraditionalCipher]>

    private static let markLimit: Int64 = 4096
    private static let pieceSize: Int64 = 64 << 10

    /// - Parameters:
    ///   - encrypted: all bytes of the entry.
    ///   - check: the expected last byte of the decrypted head.
    ///   - password: the password as typed.
    /// - Throws: `resource.decryption` for most wrong passwords: one in 256 is not detected.
    init(_ encrypted: any Resource, check: UInt8, password: Secret) async throws(ResourceError) {
        var cipher = password.withBytes { TraditionalCipher(password: $0) }
        var head = try await encrypted.read(0..<Int64(TraditionalCipher.headLength))
        guard head.count == TraditionalCipher.headLength else {
            throw ResourceError(.malformed, "\"\(encrypted.link.href)\" is cut off")
        }
        cipher.decrypt(&head, from: 0)
        guard head.last == check else { throw ResourceError(.decryption, "the password is wrong") }
        self.encrypted = encrypted
        byteCount = try await encrypted.length() - Int64(TraditionalCipher.headLength)
        interval = max(Self.pieceSize, (byteCount / Self.markLimit + Self.pieceSize) / Self.pieceSize * Self.pieceSize)
        marks = Locked([cipher])
    }

    func length() async throws(ResourceError) -> Int64 { byteCount }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let range = range.clamped(to: 0..<byteCount)
        guard !range.isEmpty else { return }
        let wanted = Int(range.lowerBound / interval)
        var (index, cipher) = marks.withLock { marks in
            let index = min(wanted, marks.count - 1)
            return (index, marks[index])
        }
        var at = Int64(index) * interval
        var piece: [UInt8] = []
        while at < range.upperBound {
            piece.removeAll(keepingCapacity: true)
            // pieces end at marks, and at the end of the range
            let end = min(at + Self.pieceSize, range.upperBound, Int64(index + 1) * interval)
            let start = Int64(TraditionalCipher.headLength) + at
            try await encrypted.read(start..<start + (end - at), into: &piece)
            guard piece.count == Int(end - at) else { throw ResourceError(.malformed, "\"\(link.href)\" is cut off") }
            cipher.decrypt(&piece, from: 0)
            if end > range.lowerBound { buffer += piece[Int(max(0, range.lowerBound - at))...] }
            at = end
            if at == Int64(index + 1) * interval {
                index += 1
                let (index, cipher) = (index, cipher)
                marks.withLock { if $0.count == index { $0.append(cipher) } }
            }
        }
    }
}
