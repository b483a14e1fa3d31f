// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4

/// Makes small Marlin files, box by box.
struct MarlinBuilder {
    var scheme: FourCC = "ACGK"
    var contentID = "urn:marlin:organization:example:cid:1"
    var key = testKey
    var groupKey = Secret([UInt8](repeating: 7, count: 16))
    var descriptorType: UInt16 = 0xa551
    /// The place in `mpod` that the object names.
    var reference: UInt16 = 1
    var references: [UInt32] = [2]
    var objectTrackID: UInt32 = 1
    var hasWrappedKey: Bool?
    var authenticator: [UInt8]?
    var sampleSize: UInt32?

    /// The box `sinf` of the descriptor.
    func information() throws -> [UInt8] {
        var attributes = BoxWriter()
        attributes.box("satr") { writer in
            writer.box("styp") { $0.append(Array("urn:marlin:organization:sne:content-type:audio\0".utf8)) }
        }
        let tag = HMACSHA256(key: key).authenticate(attributes.bytes.rawSpan)
        let wrapped = try AESKeyWrap.wrap(key, under: groupKey)
        var writer = BoxWriter()
        writer.box("sinf") { writer in
            writer.fullBox("schm") { writer in
                writer.fourCC(scheme)
                writer.u16(0x0100)
            }
            writer.box("schi") { writer in
                writer.box("8id ") { $0.append(Array("\(contentID)\0".utf8)) }
                if hasWrappedKey ?? (scheme == "ACGK") { writer.box("gkey") { $0.append(wrapped) } }
                writer.append(attributes.bytes)
                writer.box("hmac") { $0.append(authenticator ?? tag) }
            }
        }
        return writer.bytes
    }

    static func descriptor(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        return [tag, UInt8(0x80 | count >> 7 & 0x7f), UInt8(count & 0x7f)] + content
    }

    private func bigEndian(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xff)] }

    /// The sample of object descriptors.
    func commands() throws -> [UInt8] {
        let object = Self.descriptor(
            0x11,
            [0x40, 0x1f] + Self.descriptor(0x0f, bigEndian(reference)) + Self.descriptor(0x0a, [1])
        )
        let protection = Self.descriptor(0x0b, [1] + bigEndian(descriptorType) + (try information()))
        return Self.descriptor(0x01, object) + Self.descriptor(0x05, protection)
    }

    /// The whole file.
    func file() throws -> [UInt8] {
        let sample = try commands()
        var type = BoxWriter()
        type.box("ftyp") { writer in
            writer.fourCC("MGSV")
            writer.u32(0x013c_078c)
            writer.fourCC("MGSV")
        }
        let start = type.bytes.count + 8
        var writer = type
        writer.box("mdat") { $0.append(sample) }
        writer.box("moov") { writer in
            writer.fullBox("mvhd") { $0.zeros(96) }
            writer.fullBox("iods") { writer in
                writer.append([0x10, 13, 0xff, 0x8f, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0e, 4])
                writer.u32(objectTrackID)
            }
            writer.box("trak") { writer in
                header(1, &writer)
                writer.box("tref") { writer in
                    writer.box("mpod") { writer in for id in references { writer.u32(id) } }
                }
                writer.box("mdia") { writer in
                    writer.fullBox("hdlr") { writer in
                        writer.u32(0)
                        writer.fourCC("odsm")
                        writer.zeros(13)
                    }
                    writer.box("minf") { $0.box("stbl") { tables(start, sampleSize ?? UInt32(sample.count), &$0) } }
                }
            }
            writer.box("trak") { header(2, &$0) }
        }
        return writer.bytes
    }

    private func header(_ id: UInt32, _ writer: inout BoxWriter) {
        writer.fullBox("tkhd", flags: 1) { writer in
            writer.zeros(8)
            writer.u32(id)
            writer.zeros(68)
        }
    }

    private func tables(_ offset: Int, _ size: UInt32, _ writer: inout BoxWriter) {
        func table(_ type: FourCC, _ values: [UInt32]) {
            writer.fullBox(type) { writer in for value in values { writer.u32(value) } }
        }
        table("stsd", [0])
        table("stts", [1, 1, 1])
        table("stsc", [1, 1, 1, 1])
        table("stsz", [size, 1])
        table("stco", [1, UInt32(offset)])
    }
}
