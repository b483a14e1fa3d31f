import CarrelBytes
import CarrelHLS
import CarrelMP4
import CarrelMedia

/// A segment of an HLS playlist on its way, decrypted as its key line says.
struct SegmentDecryption: Sendable {
    var stream: FirstBytes
    var key: EncryptionKey?
    /// The media sequence number that the source has.
    var number: UInt64
    /// The media sequence number here.
    var place: Int64
    /// The initialization section; nil of what needs none.
    var initialization: [UInt8]?
    var keys: any ContentKeySource

    static func decrypter(
        _ key: EncryptionKey?,
        _ number: UInt64,
        _ initialization: [UInt8],
        _ keys: some ContentKeySource
    ) async throws -> MediaSegmentDecrypter {
        // fragments name their keys themselves; a key line says where one is that no id leads to
        if !initialization.isEmpty, key.map({ [.sampleAES, .sampleAESCTR].contains($0.method) }) ?? true {
            do {
                return try await MediaSegmentDecrypter(initialization: initialization, keys: keys)
            } catch let error as MediaError where error.code == .missingKey && key != nil {}
        }
        return try await MediaSegmentDecrypter(key, segment: number, initialization: initialization, keys: keys)
    }

    /// The clear segment in the form that it has.
    func plain(as contentType: String) async throws -> ServedMedia {
        do {
            let decrypter = try await Self.decrypter(key, number, initialization ?? [], keys)
            // a cipher of whole segments gives bytes under any key
            let isWhole = key.map { ![.sampleAES, .sampleAESCTR].contains($0.method) } ?? false
            return ServedMedia(contentType: contentType, bytes: DecryptedBytes(stream, decrypter, isChecked: isWhole))
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }

    /// Clear fragments as a transport stream.
    func transportStream() async throws -> ServedMedia {
        do {
            let initialization = initialization ?? []
            let decrypter = try await Self.decrypter(key, number, initialization, keys)
            let clear = decrypter.clearInitialization.isEmpty ? initialization : decrypter.clearInitialization
            let tracks = try MP4File(BytesReader(clear)).tracks
            return ServedMedia(
                contentType: "video/mp2t",
                bytes: DecryptedRemuxedBytes(
                    stream,
                    decrypter,
                    tracks: tracks,
                    number: Int(truncatingIfNeeded: place),
                    keys: keys
                )
            )
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }
}
