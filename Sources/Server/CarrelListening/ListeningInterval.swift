// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelOrders
import CarrelWebAPI

/// An interval of listening, as reported by a client.
///
/// The first five members are its identity: reporting the same interval again adds nothing. If the other members differ, the
/// greater values are kept; empty, negative or zero values count as missing.
package struct ListeningInterval: Sendable, Hashable {
    package var orderID: String
    package var startUTC: Instant
    package var endUTC: Instant
    /// Whole seconds from the start of the title.
    package var startPosition: Int64
    /// Less than `startPosition` when the listener went back.
    package var endPosition: Int64
    /// The end to the millisecond, if the client knows it.
    package var endPositionMS: Int64?
    package var deviceID: String?
    package var deviceName: String?
    package var speed: Double?

    package init(orderID: String, startUTC: Instant, endUTC: Instant, startPosition: Int64, endPosition: Int64) {
        self.orderID = orderID
        self.startUTC = startUTC
        self.endUTC = endUTC
        self.startPosition = startPosition
        self.endPosition = endPosition
    }

    /// The reason for refusing an element of a report.
    package enum Refusal: Error, Sendable, Hashable {
        /// The member, in its usual case, is missing or invalid; nil if the element is not an object.
        case malformed(String?)
        case unknownOrder
        case timeReversed
        case tooLong
        case positionOutOfRange
        case orderNotStarted
        case orderEnded

        /// The stable name that clients see.
        package var code: String {
            switch self {
            case .malformed: "malformed"
            case .unknownOrder: "unknown-order"
            case .timeReversed: "time-reversed"
            case .tooLong: "too-long"
            case .positionOutOfRange: "position-out-of-range"
            case .orderNotStarted: "order-not-started"
            case .orderEnded: "order-ended"
            }
        }

        /// The member that is malformed.
        package var member: String? {
            if case .malformed(let member) = self { member } else { nil }
        }
    }

    /// Maximum duration of one interval.
    static let longest = Duration.seconds(24 * 3600)
    /// Tolerance for clocks of devices that are ahead: later ends count as this much after the report's arrival.
    package static let clockSkew = Duration.seconds(120)

    /// Checks what can be checked without the order.
    package func validate() throws(Refusal) {
        guard endUTC >= startUTC else { throw .timeReversed }
        guard endUTC - startUTC <= Self.longest else { throw .tooLong }
        guard startPosition >= 0, endPosition >= 0 else { throw .positionOutOfRange }
    }

    /// Checks against the order.
    ///
    /// An ended order still accepts intervals that began before its end, for a while: apps report late. Before its start it
    /// accepts nothing, except within the tolerance for slow device clocks.
    ///
    /// - Parameters:
    ///   - order: the order.
    ///   - lateness: the time after the order's end for which reports are accepted.
    ///   - now: the time.
    /// - Throws: ``Refusal`` `orderNotStarted` or `orderEnded`.
    func validate(against order: Order, lateness: Duration, at now: Instant) throws(Refusal) {
        if let start = order.startsAt, now < start || startUTC < start - Self.clockSkew { throw .orderNotStarted }
        if let end = order.end, startUTC >= end || now - end > lateness { throw .orderEnded }
    }

    /// Moves positions beyond the end of the title to its end: players round, and files differ by a little.
    mutating func clamp(to durationMS: Int64) {
        let last = durationMS / 1000
        startPosition = min(startPosition, last)
        if endPosition > last {
            endPosition = last
            endPositionMS = durationMS
        }
        endPositionMS = endPositionMS.map { min($0, durationMS) }
    }

    /// The end of the interval for ordering: a device's clock cannot pin the position in the future.
    ///
    /// - Parameter received: when the interval first arrived.
    /// - Returns: `endUTC`, or ``clockSkew`` after the arrival if that is earlier.
    package func effectiveEnd(received: Instant) -> Instant {
        min(endUTC, received + Self.clockSkew)
    }
}
