// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelMedia
import CarrelThreads

/// Keys with terms.
struct GrantedKeys: ContentKeySource {
    var answers: [ContentKeyName: ContentKeyAnswer] = [:]

    func key(_ name: ContentKeyName) -> ContentKeyAnswer { answers[name] ?? .unknown }
}

extension MediaHTTPClient {
    /// Most servers of these tests take no request with a body.
    func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        MediaHTTPResponse(status: 405)
    }
}

/// A server of one resource that honors ranges as configured.
final class RangeServer: MediaHTTPClient {
    struct State: Sendable {
        var body: [UInt8]
        var tag: String? = "\"1\""
        var servesRanges = true
        /// Bytes by which returned ranges are too late.
        var shift: Int64 = 0
        var requests: [String] = []
    }

    let state: Locked<State>

    init(_ body: [UInt8]) {
        state = Locked(State(body: body))
    }

    func get(_ url: String, fields: [MediaHTTPField], limit: Int) -> MediaHTTPResponse {
        func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        return state.withLock { state in
            let range = field("Range") ?? ""
            state.requests.append(range)
            let numbers = range.dropFirst(6).split(separator: "-").compactMap { Int64($0) }
            let length = Int64(state.body.count)
            var answer = [MediaHTTPField("content-type", "application/vnd.oma.drm.dcf")]
            if let tag = state.tag { answer.append(MediaHTTPField("etag", tag)) }
            let isSame = field("If-Range").map { $0 == state.tag } ?? true
            guard state.servesRanges, isSame, numbers.count == 2 else { return MediaHTTPResponse(status: 200, fields: answer) }
            let first = numbers[0] + state.shift
            guard first < length else {
                return MediaHTTPResponse(status: 416, fields: [MediaHTTPField("Content-Range", "bytes */\(length)")])
            }
            let last = min(numbers[1] + state.shift, length - 1)
            answer.append(MediaHTTPField("Content-Range", "bytes \(first)-\(last)/\(length)"))
            return MediaHTTPResponse(status: 206, fields: answer, body: Array(state.body[Int(first)...Int(last)]))
        }
    }
}

let streamKey = Secret([UInt8](1...16))

/// Bytes that are all different for 251 bytes.
func numbered(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 251) } }

/// A DCF of one object.
func streamedDCF(_ cipher: DCFCipher, _ clear: [UInt8], group: DCFGroupKey? = nil) throws -> [UInt8] {
    var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 7, low: .max - 2) }
    let headers = DCFHeaders(cipher: cipher, contentID: "cid:one@example", groupKey: group)
    try writer.write(BytesReader(clear), contentType: "audio/mpeg", headers, key: streamKey)
    return try writer.finish().bytes
}

/// Encrypts bytes as a whole.
func encrypted(_ clear: [UInt8], _ cipher: DCFCipher, iv: AESBlock) throws -> [UInt8] {
    guard cipher == .cbc else {
        var bytes = clear
        var stream = try AESStream(.counter, key: streamKey)
        stream.start(iv)
        var span = bytes.mutableSpan
        var raw = unsafe span.mutableBytes
        stream.apply(to: &raw, in: 0..<raw.byteCount)
        return bytes
    }
    let padding = 16 - clear.count % 16
    var padded = clear + [UInt8](repeating: UInt8(padding), count: padding)
    var stream = try AESStream(.chainedEncrypt, key: streamKey)
    stream.start(iv)
    var span = padded.mutableSpan
    var raw = unsafe span.mutableBytes
    stream.apply(to: &raw, in: 0..<raw.byteCount)
    return padded
}
