// SPDX-License-Identifier: Apache-2.0

/// The size of a decoded picture in luma samples, cropping applied.
package struct PictureSize: Sendable, Hashable {
    package let width: Int
    package let height: Int

    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
