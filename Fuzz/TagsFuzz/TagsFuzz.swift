// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// No tag and no decoder configuration makes a reader trap.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    _ = try? ID3.parse(bytes.rawSpan)
    _ = try? ID3.parseV1(bytes.rawSpan)
    _ = VorbisComment.parse(bytes.rawSpan)
    _ = VorbisComment.cover(bytes.rawSpan)
    _ = OggBeginning(bytes.rawSpan)?.duration(bytes.rawSpan)
    _ = RIFFChunk.tags(bytes.rawSpan)
    _ = FLACBlock.duration(bytes.rawSpan)
    _ = MP3Length.duration(bytes.rawSpan, byteCount: Int64(count))
    _ = try? APETag.parse(bytes.rawSpan)
    _ = try? AudioSpecificConfig(bytes.rawSpan).format
    return 0
}
