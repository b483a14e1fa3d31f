// SPDX-License-Identifier: Apache-2.0

import CarrelReader

/// A reading app as far as what it links goes: a test looks at its libraries.
@main
struct ReaderProgram {
    static func main() {
        print(SubscriptionClient.self, SubscriptionProviders.self)
    }
}
