// SPDX-License-Identifier: Apache-2.0

import CarrelLCP
import CarrelPublication

/// The app's way to ask for a passphrase.
struct Person: LCPAuthenticating {
    let ask: @Sendable (_ hint: String) async -> String?

    func requestPassphrase(license: LCPAuthenticatedLicense) async -> String? { await ask(license.hint) }
}
