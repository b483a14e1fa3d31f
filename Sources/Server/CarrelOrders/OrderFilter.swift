// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Which orders to list.
package struct OrderFilter: Sendable {
    package var account: String?
    package var titleID: String?
    package var number: String?
    /// The last order of the page before, by creation time and id.
    package var after: (Instant, String)?
    package var limit: Int

    package init(account: String? = nil, titleID: String? = nil, number: String? = nil, limit: Int = 100) {
        self.account = account
        self.titleID = titleID
        self.number = number
        self.limit = limit
    }
}
