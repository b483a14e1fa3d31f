// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Testing

struct `The mark of a PDF document` {
    private func head(_ offset: Int, _ mark: String = "%PDF-1.7\n") -> [UInt8] {
        Array([UInt8](repeating: 0x20, count: offset) + mark.utf8).prefix(PDFHeader.window).map(\.self)
    }

    @Test(arguments: [0, 1, 1019, 1020, 1023, 1024])
    func `counts at every offset where PDFium takes it`(offset: Int) {
        #expect(PDFHeader.isIn(head(offset)))
        #expect(PDFHeader.mayBeIn(head(offset)))
    }

    @Test func `counts at no later one, and not cut off`() {
        #expect(!PDFHeader.isIn(head(1025)))
        #expect(!PDFHeader.isIn([UInt8](repeating: 0x20, count: 2000) + "%PDF-".utf8))
        #expect(!PDFHeader.isIn(head(0, "%PDF")))
        #expect(!PDFHeader.isIn([]))
    }

    @Test func `may be one for a viewer without its hyphen`() {
        #expect(PDFHeader.mayBeIn(head(1024, "%PDF")))
        #expect(!PDFHeader.mayBeIn(head(1025, "%PDF")))
        #expect(!PDFHeader.mayBeIn(head(0, "%PD")))
    }
}
