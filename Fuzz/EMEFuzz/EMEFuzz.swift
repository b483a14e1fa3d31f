// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelEME

/// Requests, releases and licenses of ClearKey. The first byte chooses the reader.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = bytes.first else { return 0 }
    let body = Array(bytes.dropFirst())
    if choice % 2 == 0 {
        guard let request = try? ClearKeyRequest(parsing: body.rawSpan) else { return 0 }
        guard 1...ClearKeyRequest.maxKeyIDs ~= request.keyIDs.count, Set(request.keyIDs).count == request.keyIDs.count else {
            fatalError("a request has no key id, too many, or one twice")
        }
        let written = request.write()
        guard let again = try? ClearKeyRequest(parsing: written.rawSpan), again.keyIDs == request.keyIDs,
            again.purpose == request.purpose
        else { fatalError("a request changes when written") }
        let license = ClearKeyLicense(request.keyIDs.map { ClearKeyLicense.Key(id: $0, key: Secret(Array(0..<16))) })
        let text = license.write(for: request)
        // 256 ids of 512 bytes do not fit into a license
        guard text.count <= ClearKeyLicense.maxByteCount else { return 0 }
        guard let read = try? ClearKeyLicense(parsing: text.rawSpan), read.keys.map(\.id) == request.keyIDs,
            read.keys.allSatisfy({ $0.key.count == 16 })
        else { fatalError("a license changes when written") }
    } else {
        _ = try? ClearKeyLicense(parsing: body.rawSpan)
    }
    return 0
}
