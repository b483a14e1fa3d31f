// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
public import CarrelMedia

/// The rights to play a stream now, as a token was redeemed for them. They are for one session, and are not stored.
public struct StreamRights: Sendable {
    /// A rule of the rights beside their keys.
    public struct Extension: Sendable, Hashable {
        /// Four characters, such as `wudo`.
        public var type: String
        /// Whether a player that does not know it must not play.
        public var isCritical: Bool
        /// Its content.
        public var payload: [UInt8]

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
    /// Rules beside the keys. One that is critical and not known refuses the stream.
    public var extensions: [Extension]
    /// When the rights end; nil when they do not.
    public var end: Instant?
    /// When the rights end as they are renewed, asked again and again; must not wait.
    package var renewedEnd: (@Sendable () -> Instant?)?
    /// Is called once when the session has ended, such as to give the place of a stream back.
    public var release: @Sendable () async -> Void

    /// - Parameters:
    ///   - keys: has the keys of the content.
    ///   - extensions: rules beside the keys.
    ///   - end: when the rights end; nil when they do not.
    ///   - release: is called once when the session has ended.
    public init(
        keys: some ContentKeySource = GivenKeys(),
        extensions: [Extension] = [],
        end: Instant? = nil,
        release: @escaping @Sendable () async -> Void = {}
    ) {
        self.keys = keys
        self.extensions = extensions
        self.end = end
        self.release = release
    }

    /// Whether the output may be a plain stream of bytes. A constraint on the image other than 0 is one that such a stream does not keep.
    public var relaxesOutput: Bool { extensions.contains(where: Self.opensOutput) }

    /// The first critical extension that the proxy does not enforce.
    var unknown: Extension? { extensions.first { $0.isCritical && !Self.opensOutput($0) } }

    private static func opensOutput(_ item: Extension) -> Bool {
        item.type == Extension.openOutput.type && (item.payload.isEmpty || item.payload == Extension.openOutput.payload)
    }
}
