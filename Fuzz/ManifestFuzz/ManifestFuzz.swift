// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

@testable import CarrelPublication

/// A manifest that is read is the same when it is written and read again, whether it is Readium's, the W3C's or a place in one.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let warnings = WarningList()
    if let manifest = try? Manifest(bytes.rawSpan, warnings: warnings) { check(manifest) }
    guard let json = try? JSON.parse(bytes.rawSpan, limits: Manifest.limits) else { return 0 }
    if let object = json.object, let manifest = try? W3CManifest(object, Warnings(warnings)).manifest(untitled: "Untitled") {
        check(manifest)
    }
    if let locator = Locator(json) { precondition(Locator(locator.json) == locator, "another locator is read than was written") }
    precondition(warnings.warnings.allSatisfy { !$0.message.isEmpty })
    return 0
}

private func check(_ manifest: Manifest) {
    let json = manifest.json()
    guard let again = try? Manifest(json.rawSpan) else { fatalError("the manifest cannot be read again") }
    precondition(again == manifest, "another manifest is read than was written")
}
