// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelSavedMedia
import Glibc

/// Writes a package whose content is determined by its names, or continues it, for tests that end it or fill its disk.
///
/// Arguments: the folder of the package, the file of the journal, the seal mode. Prints `complete`, or the code of the error.
@main
enum SavedPackageProgram {
    static let id = "abcdefghijklmnopqrstuvwxyz"
    static let key = Secret(Array(repeating: 7, count: 32))
    private static let sizes = [0, 1, 1000, 65_536, 65_537, 200_000, 30_000]

    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let mode = SealMode(rawValue: arguments[3]) else { exit(64) }
        do throws(SavedMediaError) {
            try write(arguments[1], journal: arguments[2], mode)
            print("complete")
        } catch {
            print(error.code.identifier)
            exit(1)
        }
    }

    private static func stream(_ kind: SavedStream.Kind, _ count: Int) -> SavedStream {
        let pieces = (0..<count).map { number in
            SavedPiece(
                address: "https://example.test/\(kind.rawValue)/\(number).ts?ticket=secret",
                range: nil,
                duration: .seconds(6),
                start: .seconds(6 * number),
                isEncrypted: kind == .video
            )
        }
        return SavedStream(kind: kind, bandwidth: 1000, pieces: pieces)
    }

    private static func content(_ name: SavedPieceName) -> [UInt8] {
        let size = sizes[(name.number + name.stream) % sizes.count]
        return (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ name.number &* 7 &+ name.stream) }
    }

    private static func write(_ folder: String, journal: String, _ mode: SealMode) throws(SavedMediaError) {
        let writer = try open(folder, mode)
        var digests = read(journal)
        for (name, digest) in digests { try writer.check(name, digest) }
        var files: [PieceFile] = []
        var lines = ""
        for (place, stream) in writer.streams.enumerated() {
            for name in stream.names(stream: place) where digests[name] == nil {
                let file = try writer.file(for: name)
                let bytes = content(name)
                try file.append(Array(bytes.prefix(bytes.count / 2)))
                try file.append(Array(bytes.dropFirst(bytes.count / 2)))
                let digest = try file.finish()
                digests[name] = digest
                lines += "\(name.stream) \(name.number) \(digest.length) \(Hex.encode(digest.sha256))\n"
                files.append(file)
                guard files.count == 5 else { continue }
                try commit(&files, writer, journal, &lines)
            }
        }
        try commit(&files, writer, journal, &lines)
        try writer.complete { digests[$0] }
    }

    private static func open(_ folder: String, _ mode: SealMode) throws(SavedMediaError) -> SavedPackageWriter {
        do throws(SavedMediaError) { return try SavedPackageWriter.open(folder: folder, key: key) } catch {
            guard error.code == .missing else { throw error }
        }
        let writer = try SavedPackageWriter.create(folder: folder, id: id, key: key)
        let address = "https://example.test/master.m3u8"
        let document = SavedDocument(address: address, range: nil, finalAddress: address, bytes: Array("#EXTM3U\n".utf8))
        try writer.plan(
            source: SavedSource(address: address, form: .hls),
            documents: [document],
            streams: [stream(.video, 23), stream(.audio, 12)],
            mode: mode,
            isProtected: true
        )
        return writer
    }

    private static func commit(
        _ files: inout [PieceFile],
        _ writer: SavedPackageWriter,
        _ journal: String,
        _ lines: inout String
    ) throws(SavedMediaError) {
        try writer.commit(files)
        files = []
        let descriptor = unsafe Glibc.open(journal, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let bytes = Array(lines.utf8)
        guard descriptor >= 0, unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { exit(70) }
        close(descriptor)
        lines = ""
    }

    private static func read(_ journal: String) -> [SavedPieceName: SavedDigest] {
        guard let file = unsafe fopen(journal, "r") else { return [:] }
        defer { unsafe fclose(file) }
        var digests: [SavedPieceName: SavedDigest] = [:]
        while let line = unsafe readLine(of: file) {
            let fields = line.split(separator: " ")
            guard fields.count == 4, let stream = Int(fields[0]), let number = Int(fields[1]), let length = Int64(fields[2]),
                let digest = Hex.decode(fields[3]), digest.count == 32
            else { continue }
            digests[SavedPieceName(stream: stream, number: number)] = SavedDigest(length: length, sha256: digest)
        }
        return digests
    }

    private static func readLine(of file: UnsafeMutablePointer<FILE>) -> String? {
        var bytes: [UInt8] = []
        while true {
            let byte = unsafe getc(file)
            if byte == EOF { return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self) }
            if byte == 10 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(UInt8(truncatingIfNeeded: byte))
        }
    }
}
