// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Testing

struct `An ISBN` {
    @Test(
        arguments: [
            ("978-0-306-40615-7", "9780306406157"), ("ISBN 0-306-40615-2", "9780306406157"),
            ("urn:isbn:9780306406157", "9780306406157"),
            ("ISBN-13: 978-0-306-40615-7", "9780306406157"), ("080442957x", "9780804429573"), ("9780306406158", nil),
            ("1234567890123", nil),
            ("B00ASIN123", nil), ("", nil), ("97803064061579", nil),
        ] as [(String, String?)]
    )
    func `is read in its forms, and refused if its check digit is wrong`(text: String, number: String?) {
        #expect(ISBN(text)?.description == number)
    }
}
