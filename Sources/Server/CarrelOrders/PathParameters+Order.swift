// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelWebAPI

extension PathParameters {
    /// The order id in the path, in the form in which ids are kept. Clients send GUIDs in either case.
    package func orderID() throws -> String {
        let text = self["order"]
        guard text.utf8.count == 36 else { throw Orders.unknown }
        return text.lowercased()
    }
}
