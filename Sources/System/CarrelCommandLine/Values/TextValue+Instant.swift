// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Written as RFC 3339 has it (`2026-01-31T18:00:00Z`), or as a date, which means its first moment in UTC.
extension Instant: TextValue {
    package init(written text: String) throws(InvalidValue) {
        let isDate = text.utf8.count == 10 && !text.contains("T")
        guard let instant = Instant.parse(isDate ? "\(text)T00:00:00Z" : text) else {
            throw InvalidValue(
                "is not a date and time",
                hint: "write it as 2026-01-31T18:00:00Z, or as 2026-01-31 for the start of that day in UTC"
            )
        }
        self = instant
    }

    package var written: String { description }
    package static var valueName: String { "date" }
}
