// SPDX-License-Identifier: Apache-2.0

import CarrelSubscription

/// The access that a resource of an edition requires: a pure function of the edition and the resource.
package enum EditionAccess: Equatable {
    /// No credentials: it is free, or a sample.
    case open
    /// Credentials for the product.
    case credentials
    /// Not visible from outside.
    case missing
    /// Withdrawn.
    case gone

    package init(_ edition: Edition, isSample: Bool) {
        switch (edition.state, edition.price) {
        case (.draft, _): self = .missing
        case (.withdrawn, _): self = .gone
        case (.published, .free): self = .open
        case (.published, .paid): self = isSample ? .open : .credentials
        }
    }
}
