// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS

/// A playlist that is read and can be written must be read again as the same one.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let playlist = try? Playlist.parse(bytes.rawSpan, limit: 1000) else { return 0 }
    // keys are read when they are asked for; a lenient reader reads them with the playlist
    if case .media(let media) = playlist,
        let reading = try? Playlist.read(bytes.rawSpan, strictness: .lenient, limit: 1000),
        case .media(let lenient) = reading.playlist, lenient.segments.map(\.keys) != media.segments.map(\.keys)
    {
        fatalError("keys differ")
    }
    let text: [UInt8]?
    switch playlist {
    case .media(let media): text = try? media.write()
    case .multivariant(let multivariant): text = try? multivariant.write()
    }
    guard let text else { return 0 }
    if playlist == .multivariant(MultivariantPlaylist()) { return 0 }  // writes no tag that tells its kind
    guard let again = try? Playlist.parse(text.rawSpan, limit: 1000) else { fatalError("what was written is not read") }
    switch again {
    case .media(let media): guard let same = try? media.write(), same == text, again == playlist else { fatalError("it changed") }
    case .multivariant(let multivariant):
        guard let same = try? multivariant.write(), same == text else { fatalError("it changed") }
    }
    return 0
}
