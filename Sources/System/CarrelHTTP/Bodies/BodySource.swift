// SPDX-License-Identifier: Apache-2.0

/// Produces a response's body block by block, in bounded memory.
public protocol BodySource: AnyObject, Sendable {
    /// Appends up to `out.freeCapacity` bytes; appending nothing means the end. Throwing cuts the connection, so that the
    /// client sees that the body is not whole.
    ///
    /// Called on the connection's own thread, never concurrently. It must not wait: every other connection of that thread would.
    ///
    /// - Parameter out: the room for the bytes.
    /// - Throws: any error; the connection is closed.
    func read(into out: inout OutputRawSpan) throws
}
