// SPDX-License-Identifier: Apache-2.0

/// The response to a download that is not allowed.
package enum RefusalStyle: String, Sendable, CaseIterable {
    /// 403 without a challenge: apps that get credentials elsewhere show no password dialog.
    case forbidden
    /// 401 with the authentication document (Authentication for OPDS 1.0): readers ask for name and password.
    case challenge
}

/// Settings of edition downloads.
package struct EditionSettings: Sendable {
    /// Below `/editions/`.
    package var refusal = RefusalStyle.forbidden
    /// Below `/opds/v2/editions/`.
    package var opdsRefusal = RefusalStyle.challenge
    /// Whether feeds are for those only who sign in.
    package var feedsNeedSignIn = false
    /// Whether responses also name the required entitlement in `X-Pugpig-Entitlement`.
    package var saysPugpigEntitlement = false
    /// Title of the catalog in feeds.
    package var catalogTitle = "Carrel"

    package init() {}
}
