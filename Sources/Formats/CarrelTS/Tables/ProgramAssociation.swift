// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The programs of a transport stream, with the packet identifiers of their maps (ISO/IEC 13818-1 §2.4.4.3).
package struct ProgramAssociation: Sendable, Hashable {
    /// One program.
    package struct Program: Sendable, Hashable {
        /// `program_number`; 0 is the network information.
        package var number: UInt16
        /// The packet identifier of its map.
        package var pid: UInt16

        /// Creates an entry.
        package init(number: UInt16, pid: UInt16) {
            self.number = number
            self.pid = pid
        }
    }

    /// `table_id`.
    static let table: UInt8 = 0

    /// All programs in the order of the section.
    package var programs: [Program]

    /// Creates an association.
    package init(programs: [Program]) {
        self.programs = programs
    }

    /// Reads the body of a section.
    init(_ section: TableSection) throws(Malformed) {
        var cursor = ByteCursor(section.body.rawSpan)
        programs = []
        while cursor.remaining > 0 {
            programs.append(Program(number: try cursor.u16("program number"), pid: try cursor.u16("program map") & 0x1fff))
        }
    }

    /// The only section of the table.
    package var section: TableSection {
        var body: [UInt8] = []
        for program in programs {
            body.append(bigEndian: program.number)
            body.append(bigEndian: 0xe000 | program.pid)
        }
        return TableSection(table: Self.table, identifier: 1, body: body)
    }
}
