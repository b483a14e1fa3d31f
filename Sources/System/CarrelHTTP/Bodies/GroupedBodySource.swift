// SPDX-License-Identifier: Apache-2.0

/// A body that is cheaper to generate together with other concurrent bodies, for example with a cipher in which each block
/// depends on the previous one.
public protocol GroupedBodySource: BodySource {
    /// The batch that finishes this source and others of its kind.
    var group: any BodyGroup { get }

    /// Appends the whole body as the group takes it, as long as it will be. Called like ``BodySource/read(into:)``, and instead
    /// of it.
    ///
    /// - Parameter out: the room for the whole body.
    /// - Throws: any error; the body is not sent.
    func draft(into out: inout OutputRawSpan) throws
}

/// Turns drafts into bodies, many in one call.
public protocol BodyGroup: AnyObject, Sendable {
    /// Turns each draft into its body in place. If it throws, none of them may be sent.
    ///
    /// Called on one connection's thread, which must not wait. The bytes may not be kept.
    ///
    /// - Parameter drafts: the drafts of a group, in the order in which they were made.
    /// - Throws: any error; no body of the group is sent.
    func finish(_ drafts: [BodyDraft]) throws
}

/// A draft that a source made.
@safe
public struct BodyDraft {
    /// The source that drafted the bytes.
    public let source: any GroupedBodySource
    /// The draft, finished in place.
    public let bytes: UnsafeMutableRawBufferPointer

    /// Creates a draft.
    ///
    /// - Parameters:
    ///   - source: the source that drafted the bytes.
    ///   - bytes: memory of the caller, valid until the batch is finished.
    public init(_ source: any GroupedBodySource, bytes: UnsafeMutableRawBufferPointer) {
        self.source = source
        unsafe self.bytes = bytes
    }
}
