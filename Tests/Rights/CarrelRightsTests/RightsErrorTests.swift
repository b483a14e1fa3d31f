// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelRights
import Testing

struct `An error of rights` {
    @Test func `has a stable code, by which it is equal`() {
        #expect(RightsError(.token, "one") == RightsError(.token, "another"))
        #expect(RightsError(.token).code != RightsError(.expired).code)
    }
}
