// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4

/// No change of a DCF with tags is read as content: byte i of its clear bytes is i modulo 251, as in the corpus, or the file fails.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let key = Secret([UInt8](1...16))
    let reader = BytesReader(bytes)
    guard let file = try? DCFFile(reader) else { return 0 }
    for object in file.objects {
        guard let table = object.tags else { continue }
        guard table.count == PayloadTags.blockCount(of: object.payload.encryptedLength),
            table.range(of: 0..<table.count).upperBound <= Int64(count)
        else { fatalError("tags outside the file") }
        guard let clear = try? ClearPayloadReader(object.payload, of: reader, key: key, tags: table) else { continue }
        var at = 0
        _ = try? clear.forEachPiece(of: 1 << 16) { piece in
            for offset in 0..<piece.byteCount where piece.u8(at: offset) != UInt8((at + offset) % 251) {
                fatalError("changed content was read")
            }
            at += piece.byteCount
        }
        let middle = clear.length / 2
        if let part = try? clear.read(middle..<clear.length) {
            for (offset, byte) in part.enumerated() where byte != UInt8((Int(middle) + offset) % 251) {
                fatalError("changed content was read from the middle")
            }
        }
    }
    return 0
}
