// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

@testable import CarrelLCP

/// No license makes its reader trap, and what is signed of one stays the same when it is read and written again.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let license = try? LicenseDocument(bytes) {
        precondition(license.rights.copy ?? 0 >= 0 && license.rights.print ?? 0 >= 0, "less than nothing may be copied")
        precondition(license.links.allSatisfy { !$0.href.isEmpty && ($0.hash?.count ?? 32) == 32 }, "a link that is none")
    }
    guard let object = try? JSON.parse(bytes.rawSpan).object else { return 0 }
    for form in CanonicalForm.allCases {
        let signed = form.bytes(of: object)
        guard let again = try? JSON.parse(signed.rawSpan).object else { fatalError("the canonical form is no JSON") }
        precondition(form.bytes(of: again) == signed, "another canonical form of the same license")
        precondition(again["signature"] == nil, "a signature of itself")
    }
    return 0
}
