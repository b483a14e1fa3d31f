// SPDX-License-Identifier: Apache-2.0

package import CarrelRights

/// An action under a license, and how its caller complies with the license.
package struct LicensedUse: Sendable {
    /// The action.
    package let action: LicenseAction
    /// Whether the content leaves the player as plain bytes, as DCF files and books do.
    package let needsOpenOutput: Bool
    /// Obligations that the caller enforces, in addition to those that the app declared.
    package let enforced: Set<String>

    package init(action: LicenseAction, needsOpenOutput: Bool = false, enforced: Set<String> = []) {
        self.action = action
        self.needsOpenOutput = needsOpenOutput
        self.enforced = enforced
    }
}
