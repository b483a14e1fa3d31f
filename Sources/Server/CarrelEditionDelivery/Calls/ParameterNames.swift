// SPDX-License-Identifier: Apache-2.0

/// Parameter names of the five calls; in each list the first name present counts.
package struct ParameterNames: Sendable, Equatable {
    package var user = ["username", "email", "user", "name", "subscriber"]
    package var password = ["password"]
    package var token = ["token"]
    package var product = ["product_id", "productid", "productId"]
    /// Names of the installation id.
    package var device = ["uuid", "device_id", "deviceId", "udid"]
    /// Names of the device name.
    package var deviceName = ["device_name", "deviceName"]

    package init() {}

    /// Every list of names, with its parameter.
    private var lists: [(of: String, names: [String])] {
        [
            ("user", user), ("password", password), ("token", token), ("product", product), ("device", device),
            ("device-name", deviceName),
        ]
    }

    /// The problem with the names, if any: each parameter needs a name, and no name may have two meanings in one call.
    package var problem: (of: String, text: String)? {
        for (of, names) in lists {
            if names.isEmpty { return (of, "needs at least one name") }
            if names.contains(where: { $0.isEmpty || $0.utf8.count > 64 }) {
                return (of, "has a name that is empty or longer than 64 bytes")
            }
        }
        let signIn = user + password + device + deviceName
        for (of, names) in lists where of != "token" && of != "product" {
            if let twice = names.first(where: { name in signIn.count { $0 == name } > 1 }) {
                return (of, "has the name '\(twice)', which another parameter has too")
            }
        }
        return token.contains(where: product.contains) ? ("token", "has a name that the product's parameter has too") : nil
    }
}
