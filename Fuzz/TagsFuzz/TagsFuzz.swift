import CarrelAudio
import CarrelBytes

/// No tag and no decoder configuration makes a reader trap.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    _ = try? ID3.parse(bytes.rawSpan)
    _ = try? ID3.parseV1(bytes.rawSpan)
    _ = try? APETag.parse(bytes.rawSpan)
    _ = try? AudioSpecificConfig(bytes.rawSpan).format
    return 0
}
