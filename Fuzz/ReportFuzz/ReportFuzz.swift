// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelListening

/// A report of positions is read element by element, whatever it holds; what passes keeps its promises.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))
    guard let report = try? JSON.parse(bytes.rawSpan), let elements = report.array else { return 0 }
    for element in elements {
        guard let interval = try? ListeningInterval(json: element), (try? interval.validate()) != nil else { continue }
        precondition(interval.endUTC >= interval.startUTC)
        precondition(interval.startPosition >= 0 && interval.endPosition >= 0)
    }
    return 0
}
