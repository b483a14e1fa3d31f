// SPDX-License-Identifier: Apache-2.0

/// Which of a store's worlds a purchase was made in. Transactions of a development tool are of neither and never taken.
package enum StoreEnvironment: String, Sendable, CaseIterable {
    /// Money was paid.
    case production = "Production"
    /// A tester bought; nothing was paid.
    case sandbox = "Sandbox"
}
