// SPDX-License-Identifier: Apache-2.0

/// The version of the command and the server.
enum Version {
    static let text = "0.1.0"
}
