// Media: decryption beside a C loop of the same OpenSSL calls, parsing beside bare passes over the same bytes, and one program that the
// `run` script measures beside ffmpeg and Shaka Packager.
//
//   MediaBench                          the loops
//   MediaBench remux FILE OUT KEY…      FILE as a clear transport stream, in pieces as they arrive
//   MediaBench remux-file FILE OUT KEY… the same, its samples in the order of their times
//   MediaBench copy FILE OUT KEY…       a clear copy

import CarrelBytes
import CarrelMedia
import Glibc

let arguments = CommandLine.arguments.dropFirst()
if let mode = arguments.first, arguments.count >= 3 {
    try await work(mode, Array(arguments.dropFirst()))
} else {
    try await measureDecryption()
}

/// Runs one piece of work, to be measured from outside.
func work(_ mode: String, _ arguments: [String]) async throws {
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
