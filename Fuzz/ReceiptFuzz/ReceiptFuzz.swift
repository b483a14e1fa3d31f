// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
@testable import CarrelReceipts

/// Content signed by a store is read member by member; accepted content satisfies its invariants. (`JWSFuzz` covers the
/// signature.)
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let object = (try? JSON.parse(bytes.rawSpan))?.object, let transaction = try? StoreTransaction(object) else { return 0 }
    for text in [transaction.bundleID, transaction.productID, transaction.transactionID, transaction.originalID] {
        precondition(!text.isEmpty && text.utf8.count <= 255 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x2f })
    }
    precondition(transaction.kind != .autoRenewable || transaction.expiresAt != nil, "a subscription without an end")
    for time in [transaction.purchasedAt, transaction.signedAt, transaction.expiresAt, transaction.revokedAt].compactMap(\.self) {
        precondition(Instant.parse(time.description) == time, "a time that cannot be written")
    }
    return 0
}
