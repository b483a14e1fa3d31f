// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelRights

/// Requests of packagers. The first byte chooses the protocol.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = bytes.first else { return 0 }
    let body = Array(bytes.dropFirst())
    let dialects: [KeyExchangeRequest.Dialect] = [.cpix, .speke1, .speke2(version: "2.0"), .speke2(version: "2.1")]
    let dialect = dialects[Int(choice) % dialects.count]
    guard let request = try? KeyExchangeRequest(reading: body.rawSpan, as: dialect) else { return 0 }
    if request.document.recipients.isEmpty {
        let keys = Dictionary(request.keyIDs.map { ($0, Secret($0.bytes)) }) { first, _ in first }
        guard let response = try? request.response(keys, clearKeyURL: "https://example.com/v1/clear-key") else {
            fatalError("a request that was read has no response")
        }
        var limits = CPIXLimits.request
        limits.bytes *= 4
        limits.rsaBits = 2048
        limits.isLenient = dialect == .speke1
        guard let document = try? CPIXDocument(reading: response.rawSpan, limits: limits),
            document.keys.map(\.id) == request.keyIDs, document.keys.allSatisfy({ $0.secret == keys[$0.id] }),
            document.systems.map(\.keyID) == request.document.systems.map(\.keyID), document.rules == request.document.rules,
            document.periods == request.document.periods
        else { fatalError("a response lacks a part of its request") }
    }
    return 0
}
