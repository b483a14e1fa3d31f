// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia

// The code of the product's catalog.

/// The protections of a file and the ids of its keys, as words for a list.
func protection(of path: String) async throws -> String {
    let file = try await MediaFile(path: path)
    if file.isClear { return "not protected" }
    let ids = file.keyIDs.map { $0.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined() }
    return (file.protections.map(\.description) + ids).joined(separator: ", ")
}

/// Writes a clear copy of a film. A name that ends in `.ts` gives a transport stream.
func decrypt(_ path: String, to place: String, keyID: [UInt8], key: [UInt8]) async throws -> Int64 {
    var keys = GivenKeys()
    keys.add(key, for: .id(keyID))
    let form = place.hasSuffix(".ts") ? MediaDecryption.Output.transportStream : .same
    let decryption = try await MediaDecryption(path: path, as: form, keys: keys)
    return try await decryption.write(toFile: place) { done in print("\(done) bytes") }.length
}

/// Decrypts one segment of an HLS playlist.
func clearSegment(_ pieces: [[UInt8]], number: UInt64, keyLine: String, of playlist: String, key: [UInt8]) async throws -> [UInt8]
{
    var keys = GivenKeys()
    keys.add(key, for: nil)
    var decrypter = try await MediaSegmentDecrypter(keyLine: keyLine, of: playlist, segment: number, keys: keys)
    var clear = BytesSink()
    for piece in pieces { try await decrypter.decrypt(piece.rawSpan, to: &clear) }
    try await decrypter.finish(to: &clear)
    return clear.bytes
}

/// The last bytes of the content of a DCF.
func tail(of path: String, count: Int, keys: GivenKeys) async throws -> [UInt8] {
    let source = try await FileSource(path: path)
    let stream = try await MediaStream.open(source, as: .dcf(), keys: keys)
    stream.seek(to: stream.size - Int64(count))
    let bytes = try await stream.read(upTo: count)
    await stream.close()
    return bytes
}
