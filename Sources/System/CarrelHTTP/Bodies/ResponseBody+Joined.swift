// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
internal import CarrelThreads
import Glibc

extension ResponseBody {
    /// Joins bodies in order.
    static func joined(_ parts: [ResponseBody]) -> ResponseBody {
        var length: Int? = 0
        var isAsynchronous = false
        for part in parts {
            if let sum = length, let more = part.length { length = sum + more } else { length = nil }
            if case .stream = part { isAsynchronous = true }
        }
        guard isAsynchronous else { return .pull(length: length, JoinedSource(parts)) }
        return .stream(length: length) { writer in
            for part in parts {
                if case .stream(_, let produce) = part {
                    try await produce(writer)
                } else {
                    let source = JoinedSource([part])
                    while let block = try source.block(of: 65536) { try await writer.write(block) }
                }
            }
        }
    }
}

extension BodySource {
    /// The next block as an array, nil at the end.
    func block(of size: Int) throws -> [UInt8]? {
        let block = try [UInt8](rawCapacity: size) { (out) throws in try read(into: &out) }
        return block.isEmpty ? nil : block
    }
}

/// Bytes, files and sources, one after another.
private final class JoinedSource: BodySource {
    private struct State {
        var parts: [ResponseBody]
        /// The current part, and the number of its bytes read so far.
        var part = 0
        var offset: Int64 = 0
    }

    private let state: Locked<State>

    init(_ parts: [ResponseBody]) {
        state = Locked(State(parts: parts))
    }

    func read(into out: inout OutputRawSpan) throws {
        while out.freeCapacity > 0 {
            let part = state.withLock { state -> (body: ResponseBody, offset: Int64)? in
                state.part < state.parts.count ? (state.parts[state.part], state.offset) : nil
            }
            guard let part else { return }
            let room = out.freeCapacity
            switch part.body {
            case .empty, .stream: break
            case .bytes(let bytes):
                let start = Int(part.offset)
                out.append(bytes, start..<min(bytes.count, start + room))
            case .file(let file, let range):
                try file.read(range.lowerBound + part.offset..<range.upperBound, into: &out)
            case .pull(_, let source): try source.read(into: &out)
            case .grouped(_, let source): try source.read(into: &out)
            }
            let readCount = Int64(room - out.freeCapacity)
            state.withLock { state in
                state.offset += readCount
                if readCount == 0 {
                    state.part += 1
                    state.offset = 0
                }
            }
        }
    }
}

extension OutputRawSpan {
    /// Appends a part of an array.
    mutating func append(_ bytes: [UInt8], _ range: Range<Int>) {
        unsafe withUnsafeMutableBytes { buffer, count in
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[range]))
            }
            count += range.count
        }
    }
}
