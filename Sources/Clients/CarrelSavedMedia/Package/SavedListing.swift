// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The tables of a package without its key: of this project, or of another program that writes `movpkg` packages. They are not
/// authenticated, so they are only shown.
package struct SavedListing: Sendable {
    package let boot: BootImage
    /// The tables of the streams, in the order of the boot image.
    package let tables: [SegmentTable]

    /// Reads the tables of a package.
    ///
    /// - Parameter folder: its path.
    /// - Throws: `saved.missing` if a table is absent, `saved.format` with the fault, `saved.disk`.
    package init(folder: String) throws(SavedMediaError) {
        let place = PackageFolder(folder)
        var name = PackageFolder.bootName
        if place.size(Self.rootName) != nil {
            let root = try place.read(Self.rootName, limit: SavedLimits.bootBytes)
            name = try BootImage.name(inRoot: root.rawSpan)
        }
        let image = try place.read(name, limit: SavedLimits.bootBytes)
        boot = try BootImage(image.rawSpan)
        var tables: [SegmentTable] = []
        var count = 0
        for stream in boot.streams {
            let name = "\(stream.path)/\(SegmentTable.fileName)"
            let bytes = try place.read(name, limit: SavedLimits.tableBytes)
            let table = try SegmentTable(bytes.rawSpan, name: name)
            count += table.rows.count
            guard count <= SavedLimits.pieces else {
                throw BootImage.fault(name, "the package has more than \(SavedLimits.pieces) segments")
            }
            tables.append(table)
        }
        self.tables = tables
    }

    /// Names the boot image in packages of other programs.
    private static let rootName = "root.xml"
}
