// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// Whatever a Range field says, what it resolves to lies inside the representation (RFC 9110 §14).
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let field = unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    guard let ranges = ByteRanges(parsing: field) else { return 0 }
    for length: Int64 in [0, 1, 1000, .max] {
        for range in ranges.resolve(length: length) {
            precondition(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= length)
        }
    }
    return 0
}
