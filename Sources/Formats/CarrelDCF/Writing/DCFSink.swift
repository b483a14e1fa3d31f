// SPDX-License-Identifier: Apache-2.0

/// The place that a DCF is written to.
package protocol DCFSink {
    /// Appends bytes.
    mutating func write(_ bytes: RawSpan) throws

    /// Overwrites bytes that were written before. Called only if a length was not known in advance.
    mutating func overwrite(_ bytes: RawSpan, at offset: Int64) throws
}

/// A DCF in memory.
package struct DCFMemorySink: DCFSink, Sendable {
    /// Everything written.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(_ span: RawSpan) {
        unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }

    package mutating func overwrite(_ span: RawSpan, at offset: Int64) {
        unsafe span.withUnsafeBytes { unsafe bytes.replaceSubrange(Int(offset)..<Int(offset) + $0.count, with: $0) }
    }
}
