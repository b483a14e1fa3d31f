// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelZlib
import Testing

@Suite("The checksum of archives")
struct ChecksumTests {
    // the check value of CRC-32/ISO-HDLC
    @Test(arguments: 0...9)
    func `equals the catalogue's checksum, in pieces of any size`(split: Int) {
        let bytes = Array("123456789".utf8)
        var checksum = CRC32()
        checksum.update(bytes.rawSpan.extracting(0..<split))
        checksum.update([UInt8]().rawSpan)
        checksum.update(bytes.rawSpan.extracting(split..<9))
        #expect(checksum.value == 0xcbf4_3926)
    }
}
