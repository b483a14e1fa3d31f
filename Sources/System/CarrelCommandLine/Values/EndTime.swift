// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The end of something that a person grants: a date and time (RFC 3339), a date, which means the last second of that day in UTC, or a
/// length of time from now, such as `+14d`.
package struct EndTime: TextValue, Equatable {
    package let instant: Instant

    package init(written text: String) throws(InvalidValue) {
        if text.hasPrefix("+") {
            let end = Instant.now() + (try Duration(written: String(text.dropFirst())))
            instant = Instant(milliseconds: end.milliseconds / 1000 * 1000)
            return
        }
        let isDate = text.utf8.count == 10 && !text.contains("T")
        guard let instant = Instant.parse(isDate ? "\(text)T23:59:59Z" : text) else {
            throw InvalidValue(
                "is not a date and time",
                hint:
                    "write it as 2026-01-31T18:00:00Z, as 2026-01-31 for the end of that day in UTC, or as +14d for 14 days from now"
            )
        }
        self.instant = instant
    }

    package var written: String { instant.description }
    package static var valueName: String { "date" }

    /// Refuses an end in the past, unless a start before it shows that the past is meant.
    ///
    /// - Parameters:
    ///   - start: the start, if given.
    ///   - option: the option, for the message.
    ///   - now: the time.
    /// - Throws: `usage.bad-value`.
    package func requireFuture(after start: Instant? = nil, _ option: String, now: Instant = .now()) throws(UsageError) {
        guard instant <= now, start.map({ $0 >= instant }) ?? true else { return }
        throw UsageError(.badValue, "\(option): \(instant) is in the past", hint: "give an end in the future, such as +14d")
    }
}
