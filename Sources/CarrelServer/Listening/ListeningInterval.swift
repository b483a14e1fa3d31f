package import CarrelBytes
package import CarrelJSON

/// One stretch of listening, as a client reports it.
///
/// The first five members are its identity: reporting the same interval again adds nothing. Of two that differ in the other members
/// the greater is kept, and an empty, negative or zero one counts as left out.
package struct ListeningInterval: Sendable, Hashable {
    package var orderID: String
    package var startUTC: Instant
    package var endUTC: Instant
    /// Whole seconds from the start of the title.
    package var startPosition: Int64
    /// Less than `startPosition` when the listener went back.
    package var endPosition: Int64
    /// The end to the millisecond, where the client knows it.
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

    /// Why an element of a report is not taken.
    package enum Refusal: String, Error, Sendable {
        case malformed
        case unknownOrder = "unknown-order"
        case timeReversed = "time-reversed"
        case tooLong = "too-long"
        case positionOutOfRange = "position-out-of-range"
        case orderEnded = "order-ended"
    }

    /// How long one interval may last.
    static let longest = Duration.seconds(24 * 3600)
    /// Seconds by which a position may pass the end of the title: players round, and files differ by a little.
    static let positionSlack: Int64 = 60
    /// For how long after an order's end its intervals are taken.
    static let lateness = Duration.seconds(90 * 24 * 3600)
    /// By how much a device's clock may be ahead: later ends count as this much after the report's arrival.
    package static let clockSkew = Duration.seconds(120)

    /// Reads one element of a report.
    package init(json: JSON) throws(Refusal) {
        guard let object = json.object, let id = object["id"]?.string, id.utf8.count == 36, !id.utf8.contains(0),
            let start = object["startUtc"]?.string.flatMap({ Instant.parse($0) }),
            let end = object["endUtc"]?.string.flatMap({ Instant.parse($0) }),
            let startPosition = Self.seconds(object["startPosition"]), let endPosition = Self.seconds(object["endPosition"])
        else { throw .malformed }
        self.init(
            orderID: id.lowercased(),
            startUTC: start,
            endUTC: end,
            startPosition: startPosition,
            endPosition: endPosition
        )
        endPositionMS = object["positionMs"]?.int.map(Int64.init)
        deviceID = try Self.label(object["deviceId"])
        deviceName = try Self.label(object["deviceName"])
        if let told = object["speed"]?.double, told > 0 { speed = told }
        if let exact = endPositionMS, exact < 0 || exact / 1000 < endPosition - 1 || exact / 1000 > endPosition + 1 {
            endPositionMS = nil
        }
    }

    /// Whole seconds, far from the ends of their type; fractions that some clients send are cut.
    private static func seconds(_ value: JSON?) -> Int64? {
        guard let number = value?.double, number.magnitude < 1e12 else { return nil }
        return Int64(number)
    }

    private static func label(_ value: JSON?) throws(Refusal) -> String? {
        guard let value, value != .null else { return nil }
        guard let text = value.string, text.utf8.count <= 128, !text.unicodeScalars.contains(where: { $0.value == 0 }) else {
            throw .malformed
        }
        return text.isEmpty ? nil : text
    }

    /// Checks what can be checked without the order.
    package func validate() throws(Refusal) {
        guard endUTC >= startUTC else { throw .timeReversed }
        guard endUTC - startUTC <= Self.longest else { throw .tooLong }
        guard startPosition >= 0, endPosition >= 0 else { throw .positionOutOfRange }
    }

    /// Checks against the order and its title.
    ///
    /// An order that has ended still takes what began before its end, for a while: apps report late.
    func validate(against order: Order, durationMS: Int64, at now: Instant) throws(Refusal) {
        let last = (durationMS + 999) / 1000 + Self.positionSlack
        guard startPosition <= last, endPosition <= last else { throw .positionOutOfRange }
        if let end = order.end, startUTC >= end || now - end > Self.lateness { throw .orderEnded }
    }

    /// When the interval ended for the purpose of ordering: a device's clock cannot pin the position in the future.
    ///
    /// - Parameter received: when the interval first arrived.
    /// - Returns: `endUTC`, or ``clockSkew`` after the arrival where that is earlier.
    package func effectiveEnd(received: Instant) -> Instant {
        min(endUTC, received + Self.clockSkew)
    }
}
