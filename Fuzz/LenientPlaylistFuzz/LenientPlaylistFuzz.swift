// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS

/// A playlist that a lenient reading takes must be written as it was, and changed in one place must be read with that change alone.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let imports = [PlaylistVariable("imported", "value")]
    guard let reading = try? Playlist.read(bytes.rawSpan, strictness: .lenient, url: "a?q=1", imports: imports, limit: 1000)
    else {
        if (try? Playlist.parse(bytes.rawSpan, limit: 1000)) != nil { fatalError("the strict reading takes more") }
        return 0
    }
    func again(_ text: [UInt8]) -> Playlist? {
        try? Playlist.read(text.rawSpan, strictness: .lenient, url: "a?q=1", imports: imports, limit: 1000).playlist
    }
    // written again, a text that merely looks like a variable becomes a variable after its definition
    let hasVariables = zip(bytes, bytes.dropFirst()).contains { $0 == UInt8(ascii: "{") && $1 == UInt8(ascii: "$") }
    switch reading.playlist {
    case .media(var media):
        guard let text = try? media.write() else { fatalError("an unchanged playlist is not written") }
        if text != bytes, text != bytes + [0x0a] { fatalError("an unchanged playlist is written otherwise") }
        guard !media.segments.isEmpty, !hasVariables else { return 0 }
        let place = count % media.segments.count
        media.segments[place].uri = "changed"
        media.segments[place].byteRange = nil
        media.isEnded = true
        if place + 1 < media.segments.count { media.segments[place + 1].keys = [] }
        guard let changed = try? media.write() else { return 0 }
        guard case .media(let read)? = again(changed) else { fatalError("a changed playlist is not read") }
        if read.segments.map(\.uri) != media.segments.map(\.uri) { fatalError("addresses changed") }
        if read.segments.map(\.byteRange) != media.segments.map(\.byteRange) { fatalError("ranges changed") }
        if read.segments.map(\.keys) != media.segments.map(\.keys) { fatalError("keys changed") }
    case .multivariant(var multivariant):
        guard let text = try? multivariant.write() else { fatalError("an unchanged playlist is not written") }
        if text != bytes, text != bytes + [0x0a] { fatalError("an unchanged playlist is written otherwise") }
        guard !multivariant.variants.isEmpty, !hasVariables else { return 0 }
        multivariant.variants[count % multivariant.variants.count].uri = "changed"
        guard let changed = try? multivariant.write() else { return 0 }
        guard case .multivariant(let read)? = again(changed) else { fatalError("a changed playlist is not read") }
        if read.variants.map(\.uri) != multivariant.variants.map(\.uri) { fatalError("addresses changed") }
    }
    return 0
}
