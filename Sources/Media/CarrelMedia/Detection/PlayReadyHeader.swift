// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The object in PlayReady's protection system header: records in little-endian, of which the first type is XML in UTF-16 (PlayReady
/// Header Specification §2, §3).
enum PlayReadyHeader {
    /// The license acquisition URL (`LA_URL`); nil if there is none, or the object is damaged.
    static func licenseAddress(_ data: RawSpan) -> String? {
        guard let text = try? header(data), let start = text.firstRange(of: "<LA_URL>") else { return nil }
        let rest = text[start.upperBound...]
        guard let end = rest.firstRange(of: "</LA_URL>") else { return nil }
        var address = String(rest[..<end.lowerBound])
        // last, so that nothing is decoded twice
        for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")] {
            address = address.replacing(entity, with: character)
        }
        return address
    }

    private static func header(_ data: RawSpan) throws(Malformed) -> String? {
        var cursor = ByteCursor(data)
        try cursor.skip(4)
        let count = try cursor.u16le()
        for _ in 0..<count {
            let type = try cursor.u16le()
            let record = try cursor.slice(Int(try cursor.u16le()))
            guard type == 1 else { continue }
            let units = stride(from: 0, to: record.byteCount - 1, by: 2).map { record.u16le(at: $0) }
            return String(decoding: units, as: UTF16.self)
        }
        return nil
    }
}
