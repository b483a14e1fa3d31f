// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient

/// Lines in any order and form end in a head or a refusal, and a head has only fields that could be sent on.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    var head = ResponseHead()
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
        guard let isComplete = try? head.take(Array(line + [UInt8(ascii: "\n")]).rawSpan) else { return 0 }
        if isComplete { break }
    }
    guard head.isComplete else { return 0 }
    guard let status = head.status, status.rawValue >= 100 else { fatalError("a head has a status") }
    for field in head.fields where !Token.isValid(field.name) || field.value.utf8.contains(UInt8(ascii: "\n")) {
        fatalError("a field is none")
    }
    return 0
}
