// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelPlayer
import CarrelStore

/// Rows of a player's license store. The first byte chooses: sealed bytes, which must not open, or the content of a row that was sealed here.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let choice = bytes.first else { return 0 }
    let body = Array(bytes.dropFirst())
    guard choice & 1 == 1 else {
        if (try? seal.open(body, at: place)) != nil || (try? row(body)) != nil {
            fatalError("a row was accepted that was not sealed")
        }
        return 0
    }
    guard let json = try? JSON.parse(body.rawSpan), let sealed = try? seal.seal(json, at: place) else { return 0 }
    // not every JSON that can be written is a row, and none is one at another place
    if (try? seal.open(sealed, at: LicenseRow.place("other"))) != nil { fatalError("a row was accepted at another place") }
    guard let license = try? row(sealed) else { return 0 }
    guard let again = try? seal.seal(license.json, at: place), let read = try? row(again), read.json == license.json else {
        fatalError("a row changes when kept")
    }
    return 0
}

private func row(_ sealed: [UInt8]) throws -> LicenseRow {
    try LicenseRow(Row([.text("1"), .blob(sealed), .integer(0), .null, .integer(0)]), seal)
}

private let seal = RowSeal(key: .random(count: AESGCM.keyByteCount))
private let place = LicenseRow.place("1")
