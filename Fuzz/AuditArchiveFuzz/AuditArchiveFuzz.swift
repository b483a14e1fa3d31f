// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelJSON

/// A chain with a key that sealed nothing.
private let chain = AuditChain(
    key: HMACSHA256(key: Secret([UInt8](repeating: 7, count: 32))),
    head: AuditHead(path: "/nonexistent/audit.head")
)

/// A line of an archive of the audit log is a row that is written as it was read, or none; and no row is intact that was not sealed.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe [UInt8](UnsafeBufferPointer(start: start, count: count))
    var last: AuditHead.Mark?
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
        let limits = JSONLimits(byteCount: AuditArchive.lineLimit)
        guard let json = try? JSON.parse(Array(line).rawSpan, limits: limits) else { continue }
        _ = AuditHead.Mark(json["after"]) ?? AuditHead.Mark(json["end"])
        guard let row = SealedAuditRow(json) else { continue }
        let written = row.json
        precondition(SealedAuditRow(written)?.json == written, "a row changed")
        if let page = json["page"]?["entries"]?.string.flatMap({ Base64.decode($0) }) {
            _ = try? AuditPage.entries(in: page, of: json["id"]?.string ?? "")
        }
        precondition((try? chain.count(row, after: last)) ?? nil == nil, "a row is intact that was never sealed")
        last = row.mark
    }
    return 0
}
