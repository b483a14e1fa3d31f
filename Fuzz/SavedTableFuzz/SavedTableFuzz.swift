// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelSavedMedia

/// No table of a package may lead out of its folder, and a table that is written must be read again as the same one.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let name = try? BootImage.name(inRoot: bytes.rawSpan) { check(name) }
    if let boot = try? BootImage(bytes.rawSpan) {
        for path in boot.streams.map(\.path) + boot.items.map(\.path) + [boot.dataFolder] { check(path) }
        let text = boot.written()
        guard let again = try? BootImage(text.rawSpan), again == boot else { fatalError("a boot image changed") }
    }
    if let table = try? SegmentTable(bytes.rawSpan) {
        guard table.rows.count <= SavedLimits.pieces else { fatalError("a table has too many rows") }
        for row in table.rows {
            check(row.path)
            if let length = row.length, length < 0 { fatalError("a length is negative") }
            if row.duration < .zero || row.start < .zero { fatalError("a time is negative") }
        }
        let text = table.written()
        guard let again = try? SegmentTable(text.rawSpan) else { fatalError("a table that was written is not read") }
        guard again.id == table.id, again.isComplete == table.isComplete, again.bandwidth == table.bandwidth,
            again.isWhole == table.isWhole, again.rows == table.rows
        else { fatalError("a table changed") }
    }
    return 0
}

/// Stops unless a name is one plain component of a path.
private func check(_ name: String) {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")), !name.utf8.contains(0) else {
        fatalError("a name leads out of its folder")
    }
}
