// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// One descriptor in front of its content: a tag and a length of one to four bytes (ISO/IEC 14496-1 §8.3.3).
enum Descriptor {
    /// Skips the next descriptor; nil at the end.
    ///
    /// - Returns: its tag, and the range of its content in the bytes of the cursor.
    static func next(_ cursor: inout ByteCursor) throws(Malformed) -> (tag: UInt8, content: Range<Int>)? {
        guard cursor.remaining > 0 else { return nil }
        let tag = try cursor.u8("descriptor")
        var length = 0
        for index in 0..<4 {
            let byte = try cursor.u8("descriptor length")
            length = length << 7 | Int(byte & 0x7f)
            if byte & 0x80 == 0 { break }
            guard index < 3 else { throw Malformed("descriptor length has more than four bytes", at: cursor.position) }
        }
        let start = cursor.position
        try cursor.skip(length, "descriptor")
        return (tag, start..<start + length)
    }
}

/// The commands of a sample of object descriptors (ISO/IEC 14496-1 §7.2.5).
struct ObjectDescriptorCommands {
    /// An object of the presentation.
    struct Object {
        /// Its tracks, by their places in `mpod`, the first being 1.
        var tracks: [Int] = []
        /// The ids of the IPMP descriptors that protect it.
        var protections: [UInt8] = []
    }

    /// Objects, in their order.
    private(set) var objects: [Object] = []
    /// The places of the data of Marlin's IPMP descriptors, by descriptor id.
    private(set) var protections: [UInt8: Range<Int>] = [:]

    private static let limit = 1000

    /// Reads a sample.
    ///
    /// - Parameter bytes: the sample.
    /// - Throws: `Malformed` with the fault and its place in the sample.
    init(_ bytes: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(bytes)
        while let (tag, range) = try Descriptor.next(&cursor) {
            var inner = ByteCursor(bytes.extracting(range))
            do throws(Malformed) {
                switch tag {
                case 0x01: try readObjects(&inner)
                case 0x05: try readProtections(&inner, range.lowerBound)
                default: break
                }
            } catch {
                throw error.moved(by: range.lowerBound)
            }
        }
    }

    /// ObjectDescriptorUpdate.
    private mutating func readObjects(_ cursor: inout ByteCursor) throws(Malformed) {
        while let (tag, range) = try Descriptor.next(&cursor) {
            // an object descriptor, as MP4 files have it (14496-14 §3.1.1), or as streams have it
            guard tag == 0x11 || tag == 0x01 else { continue }
            guard objects.count < Self.limit else { throw Malformed("too many object descriptors", at: range.lowerBound) }
            var object = Object()
            var inner = ByteCursor(cursor.bytes.extracting(range))
            do throws(Malformed) {
                // with a URL there is nothing else
                guard try inner.u16("object descriptor") & 0x20 == 0 else { continue }
                while let (tag, place) = try Descriptor.next(&inner) {
                    switch tag {
                    case 0x0f:
                        guard place.count == 2 else { throw Malformed("reference to a track is damaged", at: place.lowerBound) }
                        object.tracks.append(Int(inner.bytes.u16(at: place.lowerBound)))
                    case 0x0a:
                        guard place.count >= 1 else {
                            throw Malformed("pointer to a protection is damaged", at: place.lowerBound)
                        }
                        object.protections.append(inner.bytes.u8(at: place.lowerBound))
                    default: break
                    }
                    guard object.tracks.count <= Self.limit, object.protections.count <= 256 else {
                        throw Malformed("object descriptor has too many references", at: place.lowerBound)
                    }
                }
            } catch {
                throw error.moved(by: range.lowerBound)
            }
            objects.append(object)
        }
    }

    /// IPMP_DescriptorUpdate.
    private mutating func readProtections(_ cursor: inout ByteCursor, _ base: Int) throws(Malformed) {
        while let (tag, range) = try Descriptor.next(&cursor) {
            guard tag == 0x0b else { continue }
            guard range.count >= 3 else { throw Malformed("protection descriptor is cut off", at: range.lowerBound) }
            // the type of Marlin
            guard cursor.bytes.u16(at: range.lowerBound + 1) == 0xa551 else { continue }
            let id = cursor.bytes.u8(at: range.lowerBound)
            guard protections[id] == nil else {
                throw Malformed("there are two protection descriptors \(id)", at: range.lowerBound)
            }
            protections[id] = base + range.lowerBound + 3..<base + range.upperBound
        }
    }
}
