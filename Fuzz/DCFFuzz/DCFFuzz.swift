// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4

/// No bytes make the readers of OMA DCF, PDCF and ISMACryp trap, and no payload has other bytes than its length says.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let key = Secret([UInt8](1...16))
    let reader = BytesReader(bytes)
    if let file = try? DCFFile(reader) {
        for object in file.objects {
            _ = object.headers.silentAcquisition
            _ = try? object.headers.groupKey?.unwrap(under: key)
            guard let clear = try? ClearPayloadReader(object.payload, of: reader, key: key) else { continue }
            guard clear.length <= Int64(count) else { fatalError("a payload is longer than its file") }
            var total: Int64 = 0
            let isWhole = (try? clear.forEachPiece(of: 64) { total += Int64($0.byteCount) }) != nil
            guard !isWhole || total == clear.length else { fatalError("a payload has another length") }
            let middle = clear.length / 2
            if isWhole, let range = try? clear.read(middle..<clear.length), Int64(range.count) != clear.length - middle {
                fatalError("a range has another length")
            }
        }
        if let information = file.mutableInformation, let box = try? DCFMutableInformation(information.box.dropHeader.rawSpan) {
            guard box == information else { fatalError("what is written reads differently") }
        }
    }
    for scheme in ["odkm", "iAEC"] {
        guard let protection = try? SampleProtection(MP4Protection(scheme: scheme, schemeInformation: bytes)),
            var decrypter = try? protection.decrypter(key: key)
        else { continue }
        var sample = bytes
        var span = sample.mutableSpan
        var raw = unsafe span.mutableBytes
        for length in 0...min(count, 64) {
            guard let clear = try? decrypter.decrypt(&raw, sample: count - length..<count) else { continue }
            guard clear.lowerBound >= count - length, clear.upperBound <= count else { fatalError("a sample outside its bytes") }
        }
    }
    return 0
}

extension [UInt8] {
    fileprivate var dropHeader: [UInt8] { Array(dropFirst(8)) }
}
