// SPDX-License-Identifier: Apache-2.0

/// A number of bytes, written with a unit: `64MiB`, `1.5GB`, `512kB`, `4096B`; a number alone is bytes.
package struct ByteCount: TextValue, Comparable, Hashable {
    /// The number of bytes.
    package var bytes: Int64

    package init(_ bytes: Int64) {
        self.bytes = bytes
    }

    /// Powers of 1024 (IEC 80000-13) before powers of 1000, so that a count is written in the unit it was meant in.
    private static let units: [(name: String, bytes: Int64)] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000), ("B", 1),
    ]

    package init(written text: String) throws(InvalidValue) {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let name = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        let unit = name.isEmpty ? 1 : ByteCount.units.first { $0.name.lowercased() == name }?.bytes
        guard digits.first != ".", digits.last != ".", let number = Double(digits), let unit else {
            throw InvalidValue("is not a number of bytes", hint: "write it as 64MiB, 1.5GB or 4096")
        }
        let total = number * Double(unit)
        guard total < 9e15 else { throw InvalidValue("is too many bytes") }
        guard abs(total - total.rounded()) < 1e-3 else { throw InvalidValue("is not a whole number of bytes") }
        bytes = Int64(total.rounded())
    }

    package var written: String {
        let unit = ByteCount.units.first { bytes != 0 && bytes % $0.bytes == 0 }
        return unit.map { "\(bytes / $0.bytes)\($0.name)" } ?? "0B"
    }

    /// Rounded for a reader, in powers of 1000 as disks and networks count: `812 B`, `1.2 GB`.
    package var rounded: String {
        var value = Double(bytes)
        for unit in ["B", "kB", "MB", "GB"] {
            if value < 999.95 || (unit == "B" && value < 1000) {
                return unit == "B" ? "\(bytes) B" : "\(value.tenths) \(unit)"
            }
            value /= 1000
        }
        return "\(value.tenths) TB"
    }

    package static var valueName: String { "bytes" }
    package static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }
}

extension Double {
    /// The number with one decimal digit.
    var tenths: String {
        let scaled = Int64((self * 10).rounded())
        return "\(scaled / 10).\(abs(scaled % 10))"
    }
}
