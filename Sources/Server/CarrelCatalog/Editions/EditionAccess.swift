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
    /// The clear contents of an edition of which only the protected file is published: refused to every client.
    case protected

    /// - Parameters:
    ///   - edition: the edition.
    ///   - isSample: whether the resource is free.
    ///   - isClear: whether the resource shows the contents in the clear; a cover and a protected file do not.
    package init(_ edition: Edition, isSample: Bool, isClear: Bool = true) {
        switch (edition.state, edition.price) {
        case (.draft, _): self = .missing
        case (.withdrawn, _): self = .gone
        case (.published, _) where isClear && edition.protection.licensed == .only: self = .protected
        case (.published, .free): self = .open
        case (.published, .paid): self = isSample ? .open : .credentials
        }
    }
}
