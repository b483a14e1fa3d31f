// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import FoundationEssentials

extension Instant {
    /// The moment of a date, to the nearest millisecond.
    ///
    /// - Parameter date: the date; infinite values and values beyond 64 bits of milliseconds become the nearest instant.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        let bound = 0x1p63
        if milliseconds.isNaN {
            self.init(milliseconds: 0)
        } else if milliseconds >= bound {
            self.init(milliseconds: .max)
        } else {
            self.init(milliseconds: milliseconds < -bound ? .min : Int64(milliseconds))
        }
    }
}

extension Date {
    /// The date of an instant, as exactly as seconds in a double can say it.
    public init(_ instant: Instant) {
        self.init(timeIntervalSince1970: Double(instant.milliseconds) / 1000)
    }
}
