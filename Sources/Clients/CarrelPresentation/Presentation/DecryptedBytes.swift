// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource

/// A segment decrypted in the form that it has.
actor DecryptedBytes: SegmentBytes {
    private var decrypter: MediaSegmentDecrypter?
    private let stream: FirstBytes

    /// Whether the first bytes are still to be checked.
    private var isChecked: Bool

    /// - Parameters:
    ///   - stream: the segment at the origin.
    ///   - decrypter: decrypts it.
    ///   - isChecked: whether what does not begin as media do is an error: the key is another.
    init(_ stream: FirstBytes, _ decrypter: consuming sending MediaSegmentDecrypter, isChecked: Bool = false) {
        self.stream = stream
        self.isChecked = isChecked
        self.decrypter = consume decrypter
    }

    func next() async throws -> [UInt8]? {
        guard var decrypter = decrypter.take() else { return nil }
        var sink = BytesSink()
        do {
            while let piece = try await stream.next() {
                try await decrypter.decrypt(piece.rawSpan, to: &sink)
                guard sink.bytes.isEmpty else {
                    try check(sink.bytes)
                    self.decrypter = consume decrypter
                    return sink.bytes
                }
            }
            try await decrypter.finish(to: &sink)
            if !sink.bytes.isEmpty { try check(sink.bytes) }
        } catch {
            throw ProxyError(error, in: stream.name)
        }
        return sink.bytes.isEmpty ? nil : sink.bytes
    }

    private func check(_ head: [UInt8]) throws(MediaError) {
        guard isChecked else { return }
        isChecked = false
        guard MediaBeginning.matches(head) else {
            throw MediaError(.wrongKey, "no media begin behind the decryption: the key is another, or the segment is damaged")
        }
    }
}
