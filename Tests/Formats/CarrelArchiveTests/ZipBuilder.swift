// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting

/// Makes ZIP archives, also such as no one should make.
struct ZipBuilder {
    struct Item {
        var name: [UInt8]
        var content: [UInt8]
        /// The bytes in the archive; the content itself when stored.
        var packed: [UInt8]
        var method = 0
        var flags = 0
        var attributes = 0
        var system: UInt8 = 3
        /// The size in the directory and the local header, if it is not the truth.
        var declaredSize: Int?
        var checksum: UInt32
        var localName: [UInt8]?
        /// The directory's claim about its offset, if it is not the truth.
        var offset: Int?

        init(_ name: String, _ content: [UInt8] = []) { self.init(Array(name.utf8), content) }

        init(_ name: [UInt8], _ content: [UInt8]) {
            self.name = name
            self.content = content
            packed = content
            checksum = ZipBuilder.checksum(content)
        }

        /// The same, deflated.
        func deflated() async throws -> Item {
            let result = try await runProcess([try requirePeer("gzip"), "-9nc"], input: content)
            var item = self
            item.packed = Array(result.output[10..<result.output.count - 8])
            item.method = 8
            return item
        }
    }

    var items: [Item] = []
    var comment: [UInt8] = []
    var isLarge = false
    var tail: [UInt8] = []

    init(_ items: [Item]) {
        self.items = items
    }

    func bytes() -> [UInt8] {
        var out: [UInt8] = []
        var directory: [UInt8] = []
        for item in items {
            let offset = item.offset ?? out.count
            let size = item.declaredSize ?? item.content.count
            func common() -> [UInt8] {
                little(20, 2) + little(item.flags, 2) + little(item.method, 2) + little(0, 4) + little(Int(item.checksum), 4)
            }
            let local = item.localName ?? item.name
            out +=
                [0x50, 0x4b, 3, 4] + common() + little(item.packed.count, 4) + little(size, 4) + little(local.count, 2)
                + little(0, 2)
            out += local + item.packed
            let extra =
                isLarge ? little(1, 2) + little(24, 2) + little(size, 8) + little(item.packed.count, 8) + little(offset, 8) : []
            let full = 0xffff_ffff
            directory += [0x50, 0x4b, 1, 2, 20, item.system] + common()
            directory += little(isLarge ? full : item.packed.count, 4) + little(isLarge ? full : size, 4)
            directory += little(item.name.count, 2) + little(extra.count, 2) + little(0, 2) + little(0, 2) + little(0, 2)
            directory += little(item.attributes, 4) + little(isLarge ? full : offset, 4) + item.name + extra
        }
        let start = out.count
        out += directory
        if isLarge {
            let end = out.count
            out += [0x50, 0x4b, 6, 6] + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 4) + little(0, 4)
            out += little(items.count, 8) + little(items.count, 8) + little(directory.count, 8) + little(start, 8)
            out += [0x50, 0x4b, 6, 7] + little(0, 4) + little(end, 8) + little(1, 4)
        }
        out +=
            [0x50, 0x4b, 5, 6, 0, 0, 0, 0] + little(isLarge ? 0xffff : items.count, 2) + little(isLarge ? 0xffff : items.count, 2)
        out += little(isLarge ? 0xffff_ffff : directory.count, 4) + little(isLarge ? 0xffff_ffff : start, 4)
        return out + little(comment.count, 2) + comment + tail
    }

    private func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> (8 * $0) & 255) } }

    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var sum: UInt32 = 0xffff_ffff
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xedb8_8320 : sum >> 1 }
        }
        return ~sum
    }
}
