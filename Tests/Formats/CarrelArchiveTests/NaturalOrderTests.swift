// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import Testing

struct `Files in natural order` {
    @Test(arguments: [
        ["ch 1/01.jpg", "ch 1/2.jpg", "ch 1/10.jpg", "ch 1.5/1.jpg", "ch 2/1.jpg", "ch 10/1.jpg"],
        ["Chapter 1.mp3", "Chapter 1 - Extra.mp3", "chapter 2.mp3"],
        ["Chapter 1/1.mp3", "Chapter 1 - Extra/1.mp3", "Chapter 2/1.mp3"],
        ["a.jpg", "a/1.jpg", "a b.jpg"], ["P1.png", "p2.jpg", "p10.png"], ["1.jpg", "1.png", "1a.jpg", "2.jpg"],
        ["0.jpg", "00.jpg", "1.jpg", "007.jpg", "08.jpg"],
        ["99999999.jpg", "999999999.jpg", "1000000000.jpg", "1000000001.jpg", "20000000000000000000000000.jpg"],
        ["cover", "cover.jpg", "cover 2.jpg"], ["a!.jpg", "a1.jpg", "ab.jpg", "aé.jpg"], [".x/1.jpg", "1/.x"],
    ])
    func `go folder by folder, numbers by their value, shorter names first`(paths: [String]) {
        for shift in paths.indices {
            let turned = Array(paths[shift...] + paths[..<shift])
            #expect(NaturalOrder.sorted(turned.reversed(), by: \.self) == paths)
        }
    }

    @Test func `of equal keys are in the order of their bytes, whatever order they come in`() {
        let paths = ["A.jpg", "a.jpg", "01.jpg", "1.jpg", "001.jpg"]
        let sorted = NaturalOrder.sorted(paths, by: \.self)
        #expect(sorted == ["001.jpg", "01.jpg", "1.jpg", "A.jpg", "a.jpg"])
        #expect(NaturalOrder.sorted(paths.reversed(), by: \.self) == sorted)
    }

    @Test func `are not sorted to the end after a cancellation`() {
        struct Ended: Error {}
        var looks = 0
        let paths = (0..<50_000).reversed().map { "a \($0).jpg" }
        #expect(throws: Ended.self) {
            try NaturalOrder.sorted(paths, by: \.self) { () throws(Ended) in
                looks += 1
                if looks == 20 { throw Ended() }
            }
        }
        #expect(looks == 20)
    }
}
