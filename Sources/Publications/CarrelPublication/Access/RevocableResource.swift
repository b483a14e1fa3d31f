// SPDX-License-Identifier: Apache-2.0

/// A resource that may be read only while a license lasts. Code that keeps a copy of its bytes asks before it uses the copy.
package protocol RevocableResource: Resource {
    /// Checks that the resource may be read now.
    ///
    /// - Throws: `resource.forbidden` with the reason.
    func checkAccess() throws(ResourceError)
}
