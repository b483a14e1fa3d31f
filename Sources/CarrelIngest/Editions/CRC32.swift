/// The checksum of ZIP archives (ISO-HDLC; PKWARE APPNOTE 6.3.10 §4.4.7).
struct CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1 }
    }

    private var state: UInt32 = 0xffff_ffff

    var value: UInt32 { ~state }

    mutating func update(_ bytes: RawSpan) {
        let table = Self.table
        var state = state
        for index in 0..<bytes.byteCount {
            let byte = unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
            state = table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8
        }
        self.state = state
    }
}
