// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import CarrelMedia

/// The rights to play a stream now, as a token was redeemed for them. They are for one session, and are not stored.
public struct StreamRights: Sendable {
    /// A rule of the rights in addition to their keys.
    public struct Extension: Sendable, Hashable {
        /// Four characters, such as `wudo`.
        public var type: String
        /// Whether a player that does not know it must not play.
        public var isCritical: Bool
        /// Its content.
        public var payload: [UInt8]

        /// Creates a rule.
        ///
        /// - Parameters:
        ///   - type: four characters, such as `wudo`.
        ///   - isCritical: whether a player that does not know it must not play.
        ///   - payload: its content.
        public init(type: String, isCritical: Bool = false, payload: [UInt8] = []) {
            self.type = type
            self.isCritical = isCritical
            self.payload = payload
        }

        /// Lifts the default rule of the output, so that it may be a plain stream of bytes: `wudo` with a constraint of 0.
        public static let openOutput = Extension(type: "wudo", payload: [0, 0, 0, 0])
    }

    /// Has the keys of the content; none for clear content.
    public var keys: any ContentKeySource
    /// Additional rules. An unknown critical one refuses the stream.
    public var extensions: [Extension]
    /// When the rights end: a renewal moves it, and a revocation ends them immediately.
    public var end: ContentKeyEnd
    /// Called once after the session has ended, for example to release the slot of a stream.
    public var release: @Sendable () async -> Void

    /// Creates rights.
    ///
    /// - Parameters:
    ///   - keys: the key source of the content.
    ///   - extensions: additional rules.
    ///   - end: when the rights expire; nil if they do not.
    ///   - release: called once, after the session has ended.
    public init(
        keys: some ContentKeySource = GivenKeys(),
        extensions: [Extension] = [],
        end: Instant? = nil,
        release: @escaping @Sendable () async -> Void = {}
    ) {
        self.init(keys: keys, extensions: extensions, end: ContentKeyEnd(end), release: release)
    }

    /// Creates rights whose end can change.
    ///
    /// - Parameters:
    ///   - keys: the key source of the content.
    ///   - extensions: additional rules.
    ///   - end: when the rights end.
    ///   - release: called once, after the session has ended.
    public init(
        keys: some ContentKeySource,
        extensions: [Extension] = [],
        end: ContentKeyEnd,
        release: @escaping @Sendable () async -> Void = {}
    ) {
        self.keys = keys
        self.extensions = extensions
        self.end = end
        self.release = release
    }

    /// Whether the output may be a plain byte stream. Such a stream does not enforce image constraints other than 0.
    public var relaxesOutput: Bool { extensions.contains(where: Self.opensOutput) }

    /// The first critical extension that the proxy does not enforce.
    var unknown: Extension? { extensions.first { $0.isCritical && !Self.opensOutput($0) } }

    private static func opensOutput(_ item: Extension) -> Bool {
        item.type == Extension.openOutput.type && (item.payload.isEmpty || item.payload == Extension.openOutput.payload)
    }
}
