// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCrypto

/// CPIX documents. The first byte chooses whether the reader is lenient.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = bytes.first else { return 0 }
    let body = Array(bytes.dropFirst())
    var limits = CPIXLimits.request
    limits.isLenient = choice & 1 == 1
    guard let document = try? CPIXDocument(reading: body.rawSpan, limits: limits) else { return 0 }
    let ids = Set(document.keys.map(\.id))
    for track in tracks {
        if let id = try? document.keyID(for: track), !ids.contains(id) { fatalError("a rule names a key that is not there") }
    }
    for recipient in document.recipients where (recipient.certificate.rsaBits ?? 0) < limits.rsaBits {
        fatalError("a recipient with a weak key was accepted")
    }
    guard !limits.isLenient else { return 0 }
    for version in CPIXDocument.Version.allCases {
        guard let written = try? document.write(as: version) else { continue }
        guard let again = try? CPIXDocument(reading: written.rawSpan, limits: limits), (try? again.write(as: version)) == written
        else { fatalError("a document changes when written") }
    }
    return 0
}

private let tracks = [
    CPIXTrack(.video(pixels: 921_600, framesPerSecond: 25), named: "film"), CPIXTrack(.audio(channels: 2), named: "sound"),
    CPIXTrack(.other, named: "text"),
]
