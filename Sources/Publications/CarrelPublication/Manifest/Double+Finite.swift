// SPDX-License-Identifier: Apache-2.0

extension Double {
    /// A number that a manifest can contain. Nil for other text and for infinite numbers.
    init?(finite text: some StringProtocol) {
        guard let number = Double(text), number.isFinite else { return nil }
        self = number
    }

    /// The number if it is more than nothing and not infinite.
    var positive: Double? { self > 0 && isFinite ? self : nil }
}
