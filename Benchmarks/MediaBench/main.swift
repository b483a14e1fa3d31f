// SPDX-License-Identifier: Apache-2.0

// Media: decryption compared with a C loop of the same OpenSSL calls, parsing compared with bare passes over the same bytes, and
// one program that the `run` script compares with ffmpeg and Shaka Packager.
//
//   MediaBench                          the loops
//   MediaBench dcf                      reads of a DCF alone
//   MediaBench remux FILE OUT KEY…      FILE as a clear transport stream, in pieces as they arrive
//   MediaBench remux-file FILE OUT KEY… the same, its samples in the order of their times
//   MediaBench copy FILE OUT KEY…       a clear copy
//   MediaBench package FILE FOLDER SCHEME KEY

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import Glibc

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "dcf" {
    try await measureProtectedReads()
} else if let mode = arguments.first, arguments.count >= 3 {
    try await work(mode, Array(arguments.dropFirst()))
} else {
    try await measureDecryption()
    try await measureProtectedReads()
    try measureLines()
}

/// Parsing compared with bare passes over the same bytes.
func measureLines() throws {
    for (name, text) in [
        ("HLS of 20,000 segments", PlaylistLines.plain()), ("the same, each with key, time and range", PlaylistLines.rich()),
    ] {
        try report(name, bytes: text.count) {
            try PlaylistLines.read(text)
        } floor: {
            PlaylistLines.findLines(text)
        }
    }
    let text = MPDLines.text()
    try report("MPD of 20,000 timeline entries", bytes: text.count) {
        _ = try MPDLines.read(text)
    } floor: {
        MPDLines.parse(text)
    }
    try report("the same, its addresses too", bytes: text.count) {
        try MPDLines.list(text)
    } floor: {
        MPDLines.parse(text)
    }
}

/// Runs one piece of work, to be measured from outside.
func work(_ mode: String, _ arguments: [String]) async throws {
    if mode == "package" {
        return try await package(arguments[0], to: arguments[1], arguments[2], arguments[3])
    }
    var keys = GivenKeys()
    for text in arguments.dropFirst(2) { try keys.add(text) }
    let source = try LocalFile(arguments[0])
    var sink = try DescriptorSink(arguments[1])
    switch mode {
    case "remux": try await remuxPieces(source, to: &sink, keys)
    case "remux-file":
        try await MediaDecryption(of: source, as: .transportStream, keys: keys).write(to: &sink)
    case "copy": try await MediaDecryption(of: source, keys: keys).write(to: &sink)
    default: fatalError("there is no work called \(mode)")
    }
}

/// A file or device that is written as it comes.
struct DescriptorSink: MediaSink {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw MediaError(.unwritable, path) }
    }

    func write(_ bytes: RawSpan) throws {
        let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard written == bytes.byteCount else { throw MediaError(.unwritable, "the output") }
    }

    func overwrite(_ bytes: RawSpan, at offset: Int64) throws {
        _ = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    }
}

/// Packages a file in one folder.
func package(_ file: String, to path: String, _ scheme: String, _ key: String) async throws {
    let parts = key.split(separator: ":").compactMap { Hex.decode($0) }
    guard parts.count == 2 else { fatalError("a key is written ID:KEY") }
    let bytes = parts[0]
    guard let id = KeyID(bytes.rawSpan) else { fatalError("a key id has 16 bytes") }
    var options = PackagingOptions()
    options.scheme = CommonEncryptionScheme(rawValue: scheme)
    options.videoKeys = [try PackagingKey(id: id, key: Secret(parts[1]))]
    options.audioKeys = options.videoKeys
    let packager = try Packager([try await PackagingSource(name: file, LocalFile(file))], texts: [], options)
    let folder = try PackageFolder(path)
    _ = try packager.write(to: folder)
    try folder.commit()
}
