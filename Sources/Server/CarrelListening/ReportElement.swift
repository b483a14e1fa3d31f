// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelJSON
import CarrelWebAPI

extension ListeningInterval {
    /// Reads one element of a report, as existing apps write it: members in whatever case, numbers as strings too.
    package init(json: JSON) throws(Refusal) {
        guard let element = ReportElement(json) else { throw .malformed(nil) }
        self.init(
            orderID: try element.orderID("id"),
            startUTC: try element.instant("startUtc"),
            endUTC: try element.instant("endUtc"),
            startPosition: try element.seconds("startPosition"),
            endPosition: try element.seconds("endPosition")
        )
        endPositionMS = element.whole("positionMs")
        deviceID = try element.label("deviceId")
        deviceName = try element.label("deviceName")
        if let told = element.number("speed"), told > 0 { speed = told }
        if let exact = endPositionMS, exact < 0 || exact / 1000 < endPosition - 1 || exact / 1000 > endPosition + 1 {
            endPositionMS = nil
        }
    }
}

/// An element of a position report, parsed as leniently as existing apps require: members in any case, numbers as strings, and
/// times without a zone, which are UTC.
struct ReportElement {
    private let object: JSONObject

    /// Nil for an element that is not an object.
    init?(_ json: JSON) {
        guard let object = json.object else { return nil }
        self.object = object
    }

    private func value(_ name: String) -> JSON? {
        if let value = object[name] { return value }
        // An exact search first: it is the usual case, and wins.
        for (other, value) in object where other.utf8.count == name.utf8.count && other.lowercased() == name.lowercased() {
            return value
        }
        return nil
    }

    func orderID(_ name: String) throws(ListeningInterval.Refusal) -> String {
        guard let id = value(name)?.string, id.utf8.count == 36, !id.utf8.contains(0) else { throw .malformed(name) }
        return id.lowercased()
    }

    func instant(_ name: String) throws(ListeningInterval.Refusal) -> Instant {
        guard let text = value(name)?.string, let instant = Instant.parse(text) ?? Instant.parse(text + "Z") else {
            throw .malformed(name)
        }
        return instant
    }

    /// Whole seconds, far from the ends of their type; fractions that some clients send are cut.
    func seconds(_ name: String) throws(ListeningInterval.Refusal) -> Int64 {
        guard let number = number(name), number.magnitude < 1e12 else { throw .malformed(name) }
        return Int64(number)
    }

    /// A whole number; nil for everything else.
    func whole(_ name: String) -> Int64? {
        guard let value = value(name) else { return nil }
        return value.int.map(Int64.init) ?? value.string.flatMap { Int64($0) }
    }

    /// A number, or a string that writes one in decimal digits; nil for everything else.
    func number(_ name: String) -> Double? {
        guard let value = value(name) else { return nil }
        if let number = value.double { return number }
        guard let text = value.string, text.utf8.count <= 32, text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else {
            return nil
        }
        return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    /// A text of up to 128 bytes; nil if it is absent, null or empty.
    func label(_ name: String) throws(ListeningInterval.Refusal) -> String? {
        guard let value = value(name), value != .null else { return nil }
        guard let text = value.string, text.utf8.count <= 128, !text.unicodeScalars.contains(where: { $0.value == 0 }) else {
            throw .malformed(name)
        }
        return text.isEmpty ? nil : text
    }
}
