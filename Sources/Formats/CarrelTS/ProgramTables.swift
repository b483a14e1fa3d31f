// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The program association and program map packets that open every segment (ISO/IEC 13818-1 §2.4.4).
struct ProgramTables: Sendable {
    /// Both packets, with continuity counters of zero.
    let packets: [UInt8]

    private init(_ streamType: AudioStreamType) {
        let program: UInt16 = 1
        var association: [UInt8] = []
        association.append(bigEndian: program)
        association.append(bigEndian: 0xe000 | TransportStream.mapPID)
        var map: [UInt8] = []
        map.append(bigEndian: 0xe000 | TransportStream.audioPID)  // carries the clock
        map.append(bigEndian: 0xf000 as UInt16)  // no program descriptors
        map.append(streamType.rawValue)
        map.append(bigEndian: 0xe000 | TransportStream.audioPID)
        map.append(bigEndian: 0xf000 as UInt16)  // no stream descriptors
        packets =
            Self.packet(pid: TransportStream.associationPID, table: 0x00, extending: 1, association)
            + Self.packet(pid: TransportStream.mapPID, table: 0x02, extending: program, map)
    }

    private static let all: [ProgramTables] = AudioStreamType.allCases.map { ProgramTables($0) }

    /// The tables of a stream type, made once.
    static func of(_ streamType: AudioStreamType) -> ProgramTables {
        switch streamType {
        case .mpeg1: all[0]
        case .mpeg2: all[1]
        case .adts: all[2]
        }
    }

    private static func packet(pid: UInt16, table: UInt8, extending: UInt16, _ body: [UInt8]) -> [UInt8] {
        var section: [UInt8] = [table]
        section.append(bigEndian: 0xb000 | UInt16(5 + body.count + 4))
        section.append(bigEndian: extending)
        section += [0xc1, 0, 0]  // version 0, current, section 0 of 0
        section += body
        section.append(bigEndian: checksum(section))
        var packet: [UInt8] = [0x47]
        packet.append(bigEndian: 0x4000 | pid)
        packet += [0x10, 0]  // payload only; the section starts immediately
        packet += section
        packet += [UInt8](repeating: 0xff, count: TransportStream.packetLength - packet.count)
        return packet
    }

    /// CRC-32 with polynomial 0x04c11db7, not reflected, all ones at the start (ISO/IEC 13818-1 annex A).
    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var remainder: UInt32 = 0xffff_ffff
        for byte in bytes {
            remainder ^= UInt32(byte) << 24
            for _ in 0..<8 { remainder = remainder & 0x8000_0000 == 0 ? remainder << 1 : remainder << 1 ^ 0x04c1_1db7 }
        }
        return remainder
    }
}
