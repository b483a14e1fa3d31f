// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// A value that the reader accepts must be accepted again when written, with the same meaning.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let value = try? JSON.parse(bytes.rawSpan) else { return 0 }
    for text in [value.write(), value.writePretty()] {
        guard let again = try? JSON.parse(text.rawSpan), again == value else { fatalError("what was written is something else") }
    }
    let canonical = value.writeCanonical()
    guard let again = try? JSON.parse(canonical.rawSpan), again.writeCanonical() == canonical else {
        fatalError("the canonical form is not its own")
    }
    return 0
}
