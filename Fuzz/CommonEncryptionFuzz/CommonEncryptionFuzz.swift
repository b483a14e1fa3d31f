// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia

/// The same key for everything.
private struct OneKey: ContentKeySource {
    func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        .granted(ContentKeyGrant(key: Secret([UInt8](repeating: 7, count: 16))))
    }
}

/// No file of Common Encryption makes the reader trap; no sample lies outside the file; a clear copy is as long as the file, and so is
/// the clear stream of fragments that come in pieces.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    finish {
        if let file = try? MP4File(BytesReader(bytes)) {
            walk(file, count)
            await copy(file, count)
            await read(file)
            _ = try? MP4Inspection.describe(file.reader)
        }
        await stream(bytes)
    }
    return 0
}

private func walk(_ file: MP4File, _ count: Int) {
    for track in file.tracks {
        var samples = file.samples(of: track)
        var encryption = SampleEncryption()
        while let sample = try? samples.next() {
            guard sample.offset >= 0, sample.range.upperBound <= Int64(count) else { fatalError("a sample outside the file") }
            guard sample.entry < track.entries.count else { break }
            guard (try? samples.readEncryption(track.entries[sample.entry].encryption, into: &encryption)) != nil else { break }
        }
    }
}

private func copy(_ file: MP4File, _ count: Int) async {
    guard let keys = try? await TrackDecrypter.keys(of: file, from: OneKey()), var copy = try? ClearCopy(file, keys: keys) else {
        return
    }
    var sink = BytesSink()
    guard (try? copy.write(to: &sink)) != nil else { return }
    guard sink.bytes.count == count else { fatalError("a copy of another length") }
}

private func read(_ file: MP4File) async {
    guard let protection = try? await FileProtection(file, from: OneKey()) else { return }
    for track in file.tracks {
        guard let reader = try? ClearTrackReader(track, of: file, protection) else { continue }
        var goesOn = true
        while goesOn {
            let next = try? reader.next { sample, bytes, range in
                guard range.lowerBound >= 0, range.upperBound <= bytes.byteCount, range.count <= sample.size else {
                    fatalError("a sample outside its bytes")
                }
                return true
            }
            goesOn = next == true
        }
    }
    var sink = BytesSink()
    if var rewrite = try? ClearRewrite(file, protection) { try? rewrite.write(to: &sink) { _ in } }
    sink = BytesSink()
    if let remux = try? FileRemux(file, protection) { try? remux.write(to: &sink) { _ in } }
}

private func stream(_ bytes: [UInt8]) async {
    var fragments = ClearFragments()
    var remux = SegmentRemux([SegmentRemux.Stream()])
    var packets = BytesSink()
    var isRemuxed = true
    let piece = 1 + Int(bytes.last ?? 0) * 4
    var length = 0
    var at = 0
    do {
        while true {
            while let event = try fragments.next() {
                switch event {
                case .movie(let range), .fragment(let range):
                    length += range.count
                    try await fragments.resolveKeys(from: OneKey())
                case .box(_, let range), .data(let range), .sample(_, _, let range): length += range.count
                }
            }
            guard at < bytes.count else { break }
            let end = min(bytes.count, at + piece)
            fragments.append(bytes.rawSpan.extracting(at..<end))
            if isRemuxed {
                remux.append(bytes.rawSpan.extracting(at..<end))
                do { try await remux.write(to: &packets, keys: OneKey()) } catch { isRemuxed = false }
            }
            at = end
            if at == bytes.count { fragments.end() }
        }
    } catch {
        return
    }
    guard length == bytes.count else { fatalError("a stream of another length") }
    remux.end()
    if isRemuxed { _ = try? await remux.write(to: &packets, keys: OneKey()) }
}
