// SPDX-License-Identifier: Apache-2.0

/// Time limits, which tests shorten.
struct BusLimits: Sendable {
    /// The longest wait for a reply.
    var reply = Duration.seconds(2)
    /// The pause before the next attempt to connect.
    var pause = Duration.seconds(10)
    /// The pause after a change, so that many changes are one.
    var rest = Duration.milliseconds(100)
}
