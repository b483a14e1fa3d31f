// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension CentralDirectory.Record {
    /// Takes sizes and offset that do not fit into 32 bits from the extra field 1 (§4.5.3).
    mutating func readZip64(_ fields: ByteCursor) throws(Malformed) {
        let full: Int64 = 0xffff_ffff
        guard size == full || packedSize == full || offset == full else { return }
        var fields = fields
        while fields.remaining >= 4 {
            let id = try fields.u16le()
            var field = ByteCursor(try fields.slice(Int(try fields.u16le()), "extra field"))
            guard id == 1 else { continue }
            if size == full { size = try field.length() }
            if packedSize == full { packedSize = try field.length() }
            if offset == full { offset = try field.length() }
            return
        }
    }
}

extension ByteCursor {
    /// The next 64-bit little-endian number, which must fit a file.
    @_lifetime(self: copy self)
    mutating func length() throws(Malformed) -> Int64 {
        let value = try u64le("size")
        guard value <= UInt64(Int64.max / 4) else { throw Malformed("size is larger than any file", at: position - 8) }
        return Int64(value)
    }
}
