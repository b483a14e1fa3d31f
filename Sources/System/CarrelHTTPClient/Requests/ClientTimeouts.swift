// SPDX-License-Identifier: Apache-2.0

/// The time limits of a request, which cannot be disabled.
public struct ClientTimeouts: Sendable {
    /// To resolve, connect and shake hands.
    public var connect: Duration
    /// From start to end, redirects included, while a stream's consumer makes it wait, too.
    public var total: Duration
    /// Without a byte a second in either direction, while it is not a consumer or a body that makes it wait. Whole seconds.
    public var stall: Duration

    /// Creates time limits; each parameter is the property of its name.
    public init(connect: Duration = .seconds(10), total: Duration = .seconds(60), stall: Duration = .seconds(30)) {
        self.connect = connect
        self.total = total
        self.stall = stall
    }
}
