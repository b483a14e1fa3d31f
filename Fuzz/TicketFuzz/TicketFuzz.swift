// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelStreaming

private let order = "106d9ba0-125c-4b44-a410-2889d53f42bd"
private let now = Instant(milliseconds: 1_800_000_000_000)
private let tickets = Tickets(secrets: [SigningSecret(id: 1, secret: Secret([UInt8](repeating: 7, count: 32)))])
private let window = Tickets.Window(opens: now, expires: now + .seconds(60))
private let genuine = Tickets.Purpose.allCases.map { tickets.issue($0, order: order, in: window) }

/// No text but a ticket that we issued opens anything.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe UnsafeBufferPointer(start: start, count: count)
    let text = unsafe String(decoding: bytes, as: UTF8.self)
    for (purpose, ticket) in zip(Tickets.Purpose.allCases, genuine)
    where tickets.verify(text, purpose, order: order, at: now) {
        precondition(text == ticket, "a forged ticket was accepted")
    }
    return 0
}
