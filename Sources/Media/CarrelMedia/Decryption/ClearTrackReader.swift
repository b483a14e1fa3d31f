// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
package import CarrelMP4

/// Reads the samples of one track of a file, clear, in decode order.
///
/// Adjacent samples are read together. Memory is 256 KiB, or one sample if that is longer.
package final class ClearTrackReader {
    /// The track.
    package let track: MP4Track
    /// The next sample; nil after the last one. Its size is the size in the file, including protection overhead.
    package private(set) var sample: MP4Sample?

    /// Whether its samples are encrypted in the file.
    package var isProtected: Bool { common != nil || whole != nil }

    /// Bytes that are read together, unless one sample is longer.
    private static let runLength: Int64 = 256 << 10

    /// How a sample is encrypted that has no clear part.
    private static let all = SampleEncryption(iv: AESBlock(high: 0, low: 0))

    /// A decrypter of whole samples, which cannot be copied.
    private final class WholeSamples {
        private var decrypter: SampleDecrypter

        init(_ decrypter: consuming SampleDecrypter) {
            self.decrypter = decrypter
        }

        func decrypt(_ bytes: inout MutableRawSpan, _ range: Range<Int>) throws(Malformed) -> Range<Int> {
            try decrypter.decrypt(&bytes, sample: range)
        }
    }

    private let reader: any ByteReader
    private var samples: MP4Samples
    /// Samples that are still read, at most.
    private var remaining: Int
    private var parameters = SampleEncryption()
    private var common: TrackDecrypter?
    private var whole: WholeSamples?
    private var check: ClearSampleCheck?
    /// The digest of the key of whole samples, until it is verified.
    private var digest: [UInt8]?
    private let keys: ContentKeys
    private var buffer: [UInt8] = []
    private var start: Int64 = 0

    /// - Parameters:
    ///   - track: one of the file.
    ///   - file: the file.
    ///   - protection: the file's, with its keys.
    /// - Throws: `unsupported`, `missingKey`, `wrongKey`; `Malformed` if the first sample is damaged.
    package convenience init(_ track: MP4Track, of file: MP4File, _ protection: FileProtection) throws {
        try self.init(track, file.samples(of: track), in: file.reader, protection)
    }

    /// - Parameters:
    ///   - track: a track of the file.
    ///   - samples: the samples to read, from any position on.
    ///   - reader: the file.
    ///   - protection: the file's protection, with its keys.
    ///   - count: maximum number of samples to read.
    /// - Throws: `unsupported`, `missingKey`, `wrongKey`; `Malformed` if the first sample is damaged.
    package init(
        _ track: MP4Track,
        _ samples: MP4Samples,
        in reader: any ByteReader,
        _ protection: FileProtection,
        count: Int = .max
    ) throws {
        remaining = count
        self.track = track
        self.reader = reader
        self.samples = samples
        keys = protection.keys
        if let protected = protection.whole[track.id] {
            let key = try protection.keys.key(nil, track: track.id)
            do throws(CryptoError) { whole = WholeSamples(try protected.decrypter(key: key)) } catch {
                if error.code == .keyLength { throw MediaError(.wrongKey, "track \(track.id): \(error.message)") }
                guard error.code == .integrity else { throw error }
                throw MediaError(.wrongKey, "the key of track \(track.id) is another")
            }
            check = track.entries.first.map { ClearSampleCheck($0) }
            digest = protection.keys.use(key, nil, track: track.id)
        } else if protection.tracks.contains(track.id) {
            common = try TrackDecrypter(track, keys: protection.keys)
        }
        try advance()
    }

    private func advance() throws {
        sample = remaining > 0 ? try samples.next() : nil
        guard let sample else { return }
        remaining -= 1
        guard sample.size <= FragmentReader.sampleLimit else {
            throw Malformed("sample of \(sample.size) bytes is longer than \(FragmentReader.sampleLimit)", at: Int(sample.offset))
        }
        guard common != nil else { return }
        let defaults = try common?.defaults(of: sample)
        try samples.readEncryption(defaults, into: &parameters)
    }

    /// Skips the next sample without reading it.
    ///
    /// - Throws: the errors of the reader; `Malformed`.
    package func skip() throws {
        if sample != nil { try advance() }
    }

    /// Lends the next sample, decrypted, and advances.
    ///
    /// - Parameter body: gets the sample, and its bytes in the range, which it may change.
    /// - Returns: the result of `body`; nil after the last sample.
    /// - Throws: the errors of `body` and of the reader; `Malformed`, `wrongKey`.
    package func next<Result>(_ body: (MP4Sample, inout MutableRawSpan, Range<Int>) throws -> Result) throws -> Result? {
        guard let sample else { return nil }
        let end = start + Int64(buffer.count)
        if sample.offset < start || sample.range.upperBound > end { try fill(from: sample) }
        let at = Int(sample.offset - start)
        let range = at..<at + sample.size
        var content: [UInt8] = []
        swap(&content, &buffer)
        defer { swap(&content, &buffer) }
        var elements = content.mutableSpan
        var bytes = unsafe elements.mutableBytes
        var clear = range
        if let whole {
            do throws(Malformed) { clear = try whole.decrypt(&bytes, range) } catch {
                throw Malformed(error.what, at: Int(sample.offset) + error.offset)
            }
            if let fault = check?.fault(of: bytes.bytes.extracting(clear), Self.all) {
                throw keys.wrongKey(nil, track: track.id, fault)
            }
            if let digest, check?.isVerified == true {
                keys.evidence.verify(digest)
                self.digest = nil
            }
        } else {
            try common?.decrypt(&bytes, in: range, sample, parameters)
        }
        let result = try body(sample, &bytes, clear)
        try advance()
        return result
    }

    /// Reads the run of adjacent samples that starts here. Each byte is read once: a sample decrypted in the buffer cannot be
    /// read again.
    private func fill(from first: MP4Sample) throws {
        var end = first.range.upperBound
        var look = samples
        var remaining = remaining
        while remaining > 0, end - first.offset < Self.runLength, let sample = try look.next(), sample.offset == end,
            sample.range.upperBound - first.offset <= Self.runLength
        {
            end = sample.range.upperBound
            remaining -= 1
        }
        buffer = try reader.readAll(first.offset..<end)
        start = first.offset
    }
}
