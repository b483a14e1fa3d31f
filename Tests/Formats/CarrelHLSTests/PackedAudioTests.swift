// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import Testing

struct `Packed audio` {
    @Test(arguments: [
        (0, "0000000000000000"), (45_000, "000000000000afc8"), (1 << 33 - 1, "00000001ffffffff"),
        (1 << 33 + 7, "0000000000000007"),
    ])
    func `begins with the time stamp tag of RFC 8216`(timestamp: UInt64, hex: String) {
        let tag = PackedAudio.timestampTag(timestamp)
        #expect(tag.count == PackedAudio.timestampTagLength)
        #expect(Hex.encode(tag.prefix(20)) == "4944330400000000003f" + "50524956000000350000")
        #expect(Array(tag[20..<65]) == Array("com.apple.streaming.transportStreamTimestamp\0".utf8))
        #expect(Hex.encode(tag.suffix(8)) == hex)
    }
}
