// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A date that is read must be written so that it is read as the same again.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    // an offset may carry the first and the last day out of the years that RFC 3339 has
    if let instant = Instant.parse(text), !instant.description.hasPrefix("-"), !instant.description.hasPrefix("+"),
        Instant.parse(instant.description) != instant
    {
        fatalError("an instant changed")
    }
    if let instant = Instant.parse(httpDate: text, now: Instant(milliseconds: 1_767_225_600_000)),
        Instant.parse(httpDate: instant.httpDate) != instant
    {
        fatalError("an HTTP date changed")
    }
    return 0
}
