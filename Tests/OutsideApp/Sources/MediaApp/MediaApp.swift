// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia

/// Looks into a file that is not a medium, and decrypts a segment of HLS.
@main
struct MediaApp {
    static func main() async throws {
        let file = try await MediaFile(path: CommandLine.arguments[1] + "/mimetype")
        print(file.container, file.isClear)
        var keys = GivenKeys()
        keys.add([UInt8](repeating: 0, count: 16), for: nil)
        let line = #"#EXT-X-KEY:METHOD=AES-128,URI="key.bin",IV=0x00000000000000000000000000000000"#
        var decrypter = try await MediaSegmentDecrypter(keyLine: line, segment: 1, keys: keys)
        var clear = BytesSink()
        do {
            let block: [UInt8] = [UInt8](repeating: 0, count: 16)
            try await decrypter.decrypt(block.rawSpan, to: &clear)
            try await decrypter.finish(to: &clear)
        } catch let error as MediaError {
            print(error.code)
        }
    }
}
