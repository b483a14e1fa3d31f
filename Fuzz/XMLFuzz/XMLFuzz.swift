// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// A document is the same document in whatever pieces it comes.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let whole = events(bytes, pieces: max(1, bytes.count))
    for size in [1, 7] where bytes.count < 4096 {
        guard events(bytes, pieces: size) == whole else { fatalError("pieces of \(size) bytes are another document") }
    }
    return 0
}

private func events(_ bytes: [UInt8], pieces size: Int) -> [XMLEvent]? {
    var reader = XMLReader()
    var events: [XMLEvent] = []
    do {
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += try reader.read(bytes.rawSpan.extracting(start..<min(start + size, bytes.count)))
        }
        return events + (try reader.finish())
    } catch {
        return nil
    }
}
