// SPDX-License-Identifier: Apache-2.0

/// The treatment of a document with a DOCTYPE.
package enum XMLDocumentType: Sendable {
    /// It is an error.
    case refused
    /// It is passed over: nothing that it names is loaded, and no entity that it declares is known. References to the entities of
    /// HTML (`&nbsp;`) are resolved where XML allows them, others are left out.
    case skipped
}
