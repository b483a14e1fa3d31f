// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP
package import CarrelWebAPI

extension HTTPRequest {
    /// The license message of a request, in `X-AxDRM-Message`; nil without one.
    ///
    /// - Throws: ``RuleError`` `license.token` for several fields, of which others on the way could read another.
    package func licenseMessage() throws(RuleError) -> String? {
        let messages = headers.values("X-AxDRM-Message")
        guard messages.count <= 1 else {
            throw RuleError(.invalid, "license.token", "the request has several fields X-AxDRM-Message: send one license message")
        }
        return messages.first
    }
}
