// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Bytes written in base 16; wrong digits stop the test run.
func hex(_ text: String) -> [UInt8] {
    guard let bytes = Hex.decode(text) else { preconditionFailure("\(text) is not hex") }
    return bytes
}

/// `count` bytes that repeat only after 251.
func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8($0 % 251) }
}

/// `bytes` cut into runs of `step`; one empty run when there are none.
func pieces(_ bytes: [UInt8], _ step: Int) -> [[UInt8]] {
    guard !bytes.isEmpty else { return [[]] }
    return stride(from: 0, to: bytes.count, by: min(step, bytes.count)).map { Array(bytes[$0...].prefix(step)) }
}

/// Collects the bytes that `body` appends to an output of `capacity` bytes.
func collect(capacity: Int, _ body: (inout OutputRawSpan) throws -> Void) rethrows -> [UInt8] {
    var storage = [UInt8](repeating: 0, count: capacity)
    var span = storage.mutableSpan
    let count = try unsafe span.withUnsafeMutableBytes { buffer in
        var out = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        try body(&out)
        return unsafe out.finalize(for: buffer)
    }
    return Array(storage.prefix(count))
}
