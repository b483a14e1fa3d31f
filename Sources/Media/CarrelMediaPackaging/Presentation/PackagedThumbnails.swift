// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
import CarrelBytes

/// Thumbnails of a package: grids of pictures, one JPEG file each.
package struct PackagedThumbnails: Sendable {
    /// One grid.
    struct Grid: Sendable {
        var path: String
        var length: Int
    }

    /// Milliseconds between two pictures.
    package let interval: Int64
    /// Number of pictures in a row.
    package let columns: Int
    /// Pictures below each other.
    package let rows: Int
    /// Pixels of a grid.
    package private(set) var width = 0
    /// Pixels of a grid.
    package private(set) var height = 0
    private(set) var grids: [Grid] = []

    /// - Parameters:
    ///   - interval: milliseconds between two pictures.
    ///   - columns: number of pictures in a row.
    ///   - rows: number of rows.
    package init(interval: Int64, columns: Int, rows: Int) {
        self.interval = interval
        self.columns = columns
        self.rows = rows
    }

    /// Writes the next grid into the package.
    ///
    /// - Parameters:
    ///   - picture: a JPEG file.
    ///   - folder: the destination.
    /// - Throws: `malformed` if it is not a JPEG file; `unwritable`.
    package mutating func append(_ picture: [UInt8], to folder: PackageFolder) throws(MediaError) {
        guard let size = Self.size(picture.rawSpan) else { throw MediaError(.malformed, "a thumbnail is not a JPEG file") }
        (width, height) = size
        let path = "thumbnails/\(grids.count + 1).jpg"
        try folder.write(path, picture)
        grids.append(Grid(path: path, length: picture.count))
    }

    /// Milliseconds of the presentation that one grid is for.
    var gridDuration: Int64 { interval * Int64(columns * rows) }

    /// Bits a second of the longest grid.
    var bandwidth: Int { Int((Int64(grids.map(\.length).max() ?? 0) * 8000 + gridDuration - 1) / max(1, gridDuration)) }

    /// The size that the frame header of a JPEG file names (ITU-T T.81 §B.2.2).
    private static func size(_ bytes: RawSpan) -> (Int, Int)? {
        guard bytes.byteCount >= 4, bytes.u16(at: 0) == 0xffd8 else { return nil }
        var at = 2
        while at + 9 <= bytes.byteCount, bytes.u8(at: at) == 0xff {
            let marker = bytes.u8(at: at + 1)
            if (0xc0...0xc3).contains(marker) { return (Int(bytes.u16(at: at + 7)), Int(bytes.u16(at: at + 5))) }
            at += 2 + Int(bytes.u16(at: at + 2))
        }
        return nil
    }
}
