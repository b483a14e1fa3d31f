// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import Glibc

/// The transport streams among the fixtures, whole segments decrypted where their playlist names a key.
enum FixtureSegments {
    /// The path of each below `media`; empty without fixtures.
    static let all: [String] = Fixtures.directory.map { files(below: "\($0)/media", as: "") } ?? []

    /// The segments of a folder, in order.
    static func inFolder(_ folder: String) -> [String] { all.filter { $0.hasPrefix("\(folder)/") } }

    private static func files(below folder: String, as name: String) -> [String] {
        guard let stream = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(stream) }
        var found: [String] = []
        while let entry = unsafe readdir(stream) {
            let entry = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            guard !entry.hasPrefix(".") else { continue }
            let path = name.isEmpty ? entry : "\(name)/\(entry)"
            if entry.hasSuffix(".ts") { found.append(path) } else { found += files(below: "\(folder)/\(entry)", as: path) }
        }
        return found.sorted()
    }

    /// The bytes of one, in the clear.
    static func bytes(_ name: String) throws -> [UInt8] {
        let bytes = try Fixtures.bytes("media/\(name)")
        guard name.hasPrefix("hls/"), let mark = name.lastIndex(of: "_") else { return bytes }
        let playlist = String(decoding: try Fixtures.bytes("media/\(name[..<mark]).m3u8"), as: UTF8.self)
        let file = name.split(separator: "/").last ?? ""
        var sequence: UInt64 = 0
        var key: Substring = ""
        var iv: [UInt8]?
        for line in playlist.split(separator: "\n") {
            if line.hasPrefix("#EXT-X-MEDIA-SEQUENCE:") { sequence = UInt64(line.dropFirst(22)) ?? 0 }
            if line.hasPrefix("#EXT-X-KEY:") {
                key = line.split(separator: "\"")[1]
                iv = line.firstRange(of: "IV=0x").flatMap { Hex.decode(line[$0.upperBound...]) }
            }
            guard !line.hasPrefix("#") else { continue }
            if line == file { return try decrypt(bytes, key, iv, sequence) }
            sequence += 1
        }
        return bytes
    }

    private static func decrypt(_ bytes: [UInt8], _ key: Substring, _ iv: [UInt8]?, _ sequence: UInt64) throws -> [UInt8] {
        let secret = Secret(try Fixtures.bytes("media/hls/\(key)"))
        let iv = iv ?? [UInt8](repeating: 0, count: 8) + (0..<8).map { UInt8(truncatingIfNeeded: sequence >> (56 - 8 * $0)) }
        var cipher = try AESStream(.chainedDecrypt, key: secret)
        cipher.start(AESBlock(high: iv.rawSpan.u64(at: 0), low: iv.rawSpan.u64(at: 8)))
        var clear = bytes
        var span = clear.mutableSpan
        var raw = unsafe span.mutableBytes
        cipher.apply(to: &raw, in: 0..<bytes.count)
        clear.removeLast(Int(clear[clear.count - 1]))
        return clear
    }
}
