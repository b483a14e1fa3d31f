// SPDX-License-Identifier: Apache-2.0

import CMicroHTTPD
import CarrelHTTP
import Synchronization

/// A source from which libmicrohttpd requests the next bytes of a body, on the connection's thread.
class BodyReader {
    /// No more bytes: the end of a body of unknown length.
    static let end = -1
    /// No more bytes although there should be: the connection is cut, so that the client sees it.
    static let failure = -2

    /// Copies bytes into the buffer and returns how many; 0 after suspending the connection; ``end`` or ``failure``.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { Self.failure }
}

/// A range of a file in blocks.
final class FileBody: BodySource {
    private let file: OpenFile
    private let range: Range<Int64>
    private let offset = Atomic<Int64>(0)

    init(_ file: OpenFile, _ range: Range<Int64>) {
        self.file = file
        self.range = range
    }

    func read(into out: inout OutputRawSpan) throws {
        let before = out.byteCount
        try file.read(range.lowerBound + offset.load(ordering: .relaxed)..<range.upperBound, into: &out)
        offset.wrappingAdd(Int64(out.byteCount - before), ordering: .relaxed)
    }
}

extension BodySource {
    /// Fills the room there is, or as much of it as the source has bytes for.
    func readWhole(into out: inout OutputRawSpan) throws {
        while out.freeCapacity > 0 {
            let before = out.byteCount
            try read(into: &out)
            if out.byteCount == before { return }
        }
    }
}

/// A source ended before the length it had announced.
enum BodyError: Error {
    case short
}

/// The storage of an array, held in place.
@safe
final class PinnedBytes {
    private let bytes: [UInt8]
    let start: UnsafeMutableRawPointer?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        unsafe start = bytes.withUnsafeBytes { unsafe UnsafeMutableRawPointer(mutating: $0.baseAddress) }
    }
}

func readBody(_ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ room: Int) -> Int
{
    guard let context = unsafe context, let buffer = unsafe buffer else { return BodyReader.failure }
    let reader = unsafe Unmanaged<BodyReader>.fromOpaque(context).takeUnretainedValue()
    return unsafe reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: room))
}

func readNothing(_ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ room: Int)
    -> Int
{
    BodyReader.failure
}

func releaseBody(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<BodyReader>.fromOpaque(context).release()
}

func releasePinnedBytes(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<PinnedBytes>.fromOpaque(context).release()
}

func giveBufferBack(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<WriteBuffers.Buffer>.fromOpaque(context).takeRetainedValue().giveBack()
}
