// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension BlobID {
    /// A name that the database holds.
    package init(stored text: String) throws(ServerError) {
        guard let id = BlobID(text) else { throw ServerError(.home, "the database contains an invalid blob id") }
        self = id
    }
}
