// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4

/// No file makes the reader of Marlin's object descriptors trap.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let key = Secret([UInt8](1...16))
    if let protection = try? MarlinProtection(bytes.rawSpan) { _ = try? protection.verify(key) }
    guard let file = try? MP4File(BytesReader(bytes)) else { return 0 }
    guard let protections = try? MarlinTracks.protections(of: file) else { return 0 }
    for (_, protection) in protections {
        guard !protection.contentID.isEmpty else { fatalError("a protection without a content id") }
        _ = try? SampleProtection.marlin(protection).contentKey(under: key)
        guard var decrypter = try? SampleProtection.marlin(protection).decrypter(key: key) else { continue }
        var sample = bytes
        var span = sample.mutableSpan
        var raw = unsafe span.mutableBytes
        if let clear = try? decrypter.decrypt(&raw, sample: 0..<count), clear.upperBound > count {
            fatalError("a sample outside its bytes")
        }
    }
    return 0
}
