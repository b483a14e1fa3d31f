// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMediaSource
import CarrelProxy

/// Whatever a source says: what is read as an MS3 address leads to servers alone, is the same when written and read again, and shows its token
/// in no text; what only seems to be one is refused without it.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    let seems = MS3URL.seems(text)
    let url: MS3URL
    do throws(ProxyError) { url = try MS3URL(text) } catch {
        precondition(error.code == .usage || error.code == .address)
        // the message is a literal of the program
        precondition(error.message.utf8.count < 200 && error.message.utf8.allSatisfy { 0x20..<0x7f ~= $0 })
        return 0
    }
    precondition(seems, "a compound URL goes out as an ordinary address")
    precondition(url.rightsURL.hasPrefix("https://") && !url.token.isEmpty)
    let content = url.contentURL.lowercased()
    precondition(content.hasPrefix("https://") || content.hasPrefix("http://"))
    guard let again = try? MS3URL(url.text) else { preconditionFailure("what is written is not read") }
    precondition(again == url && again.contentURL == url.contentURL && again.isPlaylist == url.isPlaylist)
    // a token that occurs in other text by chance proves nothing
    if url.token.utf8.count > 24, !url.contentURL.contains(url.token),
        !url.rightsURL.dropLast(url.token.utf8.count).contains(url.token)
    {
        precondition(!url.description.contains(url.token))
        // as the token is written, too
        guard url.rightsURL.utf8.count <= 256 else { return 0 }
        let shown = url.withoutToken(url.rightsURL)
        precondition(!shown.contains(url.token))
        for part in shown.drop(while: { $0 != "?" }).split(whereSeparator: { $0 == "&" || $0 == "=" || $0 == "?" }) {
            precondition(PercentEncoding.decode(part) != url.token)
        }
    }
    return 0
}
