// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import Testing

struct `Byte ranges` {
    // RFC 9110 §14.1.2's own examples, of a representation of 10000 bytes.
    @Test(
        arguments: [
            ("bytes=0-499", [0..<500]), ("bytes=500-999", [500..<1000]), ("bytes=-500", [9500..<10000]),
            ("bytes=9500-", [9500..<10000]), ("bytes=0-0,-1", [0..<1, 9999..<10000]),
            ("bytes= 0-999, 4500-5499, -1000", [0..<1000, 4500..<5500, 9000..<10000]),
            ("bytes=500-600,601-999", [500..<1000]), ("bytes=500-700,601-999", [500..<1000]),
        ] as [(String, [Range<Int64>])]
    )
    func `of the specification are understood`(field: String, ranges: [Range<Int64>]) throws {
        #expect(try #require(ByteRanges(parsing: field)).resolve(length: 10000) == ranges)
    }

    @Test(
        arguments: [
            ("bytes=0-", 0, []), ("bytes=-5", 0, []), ("bytes=10-", 10, []), ("bytes=10-20", 10, []), ("bytes=-0", 10, []),
            ("bytes=9-", 10, [9..<10]), ("bytes=0-99", 10, [0..<10]), ("bytes=-99", 10, [0..<10]), ("BYTES=1-2", 10, [1..<3]),
            ("bytes=1-2,,3-3,", 10, [1..<4]), ("bytes=0-99999999999999999999", 10, [0..<10]),
            ("bytes=99999999999999999999-", 10, []),
            ("bytes=-99999999999999999999", 10, [0..<10]), ("bytes=5-6,1-2,3-4", 10, [1..<7]),
            ("bytes=8-9,0-1,50-60", 10, [8..<10, 0..<2]),
            ("bytes=0-9223372036854775807", 10, [0..<10]),
        ] as [(String, Int64, [Range<Int64>])]
    )
    func `are cut to the length, left out when outside it, and joined when they touch`(
        field: String,
        length: Int64,
        ranges: [Range<Int64>]
    ) throws {
        #expect(try #require(ByteRanges(parsing: field)).resolve(length: length) == ranges)
    }

    @Test(arguments: [
        "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=1", "bytes=2-1", "bytes=1-2-3", "bytes=--1",
        "bytes=+1-2",
        "bytes=0x1-2", "items=0-1", "bytes 0-1", "bytes=1-2;3-4", "bytes=1 -2", " bytes=0-1", "bytes=١-٢", "bytes=1-2,x",
    ])
    func `with another unit or syntax count as absent`(field: String) {
        #expect(ByteRanges(parsing: field) == nil)
    }
}
