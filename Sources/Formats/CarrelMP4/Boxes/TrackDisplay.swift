// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// How the pictures of a track are shown: turned, mirrored and scaled by a matrix, at a size (`tkhd`, ISO/IEC 14496-12 §8.3.2).
package struct TrackDisplay: Sendable, Hashable {
    /// Nine numbers, row by row: 16.16 fixed-point, 2.30 in the third column.
    package var matrix: [Int32]
    /// Pixels before the matrix, 16.16.
    package var width: UInt32
    /// Pixels before the matrix, 16.16.
    package var height: UInt32

    /// The matrix that changes nothing.
    package static let unityMatrix: [Int32] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000]

    /// - Parameters:
    ///   - matrix: nine numbers. Traps with another count.
    ///   - width: the width before the matrix, in 16.16 pixels.
    ///   - height: the height before the matrix, in 16.16 pixels.
    package init(matrix: [Int32] = unityMatrix, width: UInt32, height: UInt32) {
        precondition(matrix.count == 9, "a matrix has nine numbers")
        self.matrix = matrix
        self.width = width
        self.height = height
    }

    /// Reads the end of a track header: matrix, width, height.
    init(_ end: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(end)
        var matrix: [Int32] = []
        for _ in 0..<9 { matrix.append(Int32(bitPattern: try cursor.u32("track header"))) }
        self.init(matrix: matrix, width: try cursor.u32("track header"), height: try cursor.u32("track header"))
    }

    /// Whether the matrix changes nothing.
    package var isUpright: Bool { matrix == Self.unityMatrix }

    /// Display size in pixels: a quarter turn swaps width and height; nil if the header has no size.
    package var size: (width: Int, height: Int)? {
        let (width, height) = (Int((UInt64(width) + 0x8000) >> 16), Int((UInt64(height) + 0x8000) >> 16))
        guard width > 0, height > 0 else { return nil }
        let isQuarterTurn = matrix[0] == 0 && matrix[4] == 0 && matrix[1] != 0 && matrix[3] != 0
        return isQuarterTurn ? (height, width) : (width, height)
    }
}
