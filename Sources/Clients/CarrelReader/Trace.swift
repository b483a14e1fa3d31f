// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// An event of the SDK's work, for a log of the app's or for a developer's eyes.
///
/// Parts of the SDK hand traces to a closure (`@Sendable (Trace) -> Void`), which must not wait. A trace can be shown: its
/// message is a literal of the program, and text from outside loses on the way in user names, passwords and queries of addresses,
/// and everything that has the shape of a key or a token.
public struct Trace: Sendable, CustomStringConvertible {
    /// The part of the SDK that an event is of.
    public struct Channel: Sendable, Hashable, CustomStringConvertible {
        /// A word in lower case, such as `proxy`.
        public let description: String

        /// Creates a channel.
        ///
        /// - Parameter name: a word in lower case.
        public init(_ name: StaticString) {
            description = name.description
        }
    }

    /// A named value of an event.
    public struct Field: Sendable, Hashable, CustomStringConvertible {
        /// A word in lower camel case.
        public let name: String
        /// The value to show.
        public let value: Value

        /// Creates a field.
        ///
        /// - Parameters:
        ///   - name: a word in lower camel case.
        ///   - value: such as `.url(address)`.
        public init(_ name: StaticString, _ value: Value) {
            self.name = name.description
            self.value = value
        }

        /// The name and the value, joined by `=`.
        public var description: String { "\(name)=\(value)" }
    }

    /// A value without secrets. Text is passed by its kind, so that each kind is redacted in its own way.
    public struct Value: Sendable, Hashable, CustomStringConvertible {
        /// One line of printable ASCII characters without spaces.
        public let description: String

        /// A literal of the program.
        ///
        /// - Parameter word: the literal.
        /// - Returns: the word, as written.
        public static func word(_ word: StaticString) -> Value { Value(shown: word.description) }

        /// A number, such as a count of bytes or an index.
        ///
        /// - Parameter number: the number.
        /// - Returns: its decimal digits.
        public static func number(_ number: some BinaryInteger) -> Value { Value(description: String(number)) }

        /// A time in seconds, to the millisecond.
        public static func duration(_ duration: Duration) -> Value {
            let milliseconds = duration / .milliseconds(1)
            return Value(description: "\((milliseconds.rounded() / 1000))s")
        }

        /// Yes or no.
        ///
        /// - Parameter flag: the flag.
        /// - Returns: `yes` or `no`.
        public static func flag(_ flag: Bool) -> Value { Value(description: flag ? "yes" : "no") }

        /// The identifier of an error, without its message.
        public static func code(of error: some CodedError) -> Value { Value(shown: error.code.identifier) }

        /// A name from content, such as a codec or the ID of a representation: its first 64 characters. Parts that could be a key
        /// or a token are redacted.
        ///
        /// - Parameter name: the name, from untrusted content.
        /// - Returns: the shortened name.
        public static func name(_ name: String) -> Value { Value(shown: TraceRedaction.name(name)) }

        /// An address: scheme, host, port and path. User name, password, query and fragment, and segments of the path that could be a token, are
        /// left out; of other schemes than `http` and `https`, and of files, everything but the scheme.
        ///
        /// - Parameter url: the address, absolute or a path.
        /// - Returns: the address without secrets.
        public static func url(_ url: String) -> Value { Value(shown: TraceRedaction.url(url)) }

        private init(description: String) {
            self.description = description
        }

        /// Replaces characters that do not belong in a log line.
        private init(shown text: String) {
            description = String(
                decoding: text.utf8.prefix(512).map { 0x21..<0x7f ~= $0 ? $0 : UInt8(ascii: "_") },
                as: UTF8.self
            )
        }
    }

    /// The part of the SDK that the event is of.
    public let channel: Channel
    /// The time of the event.
    public let time: Instant
    /// A lower-case sentence without a period.
    public let message: String
    /// The event's values, in order.
    public let fields: [Field]

    /// Creates a trace.
    ///
    /// - Parameters:
    ///   - channel: the part of the SDK that the event is of.
    ///   - time: of the event.
    ///   - message: a lower-case sentence without a period.
    ///   - fields: the event's values, in order.
    public init(_ channel: Channel, _ time: Instant, _ message: StaticString, _ fields: [Field] = []) {
        self.channel = channel
        self.time = time
        self.message = message.description
        self.fields = fields
    }

    /// One line: time, channel, message and fields.
    public var description: String {
        "\(time) \(channel): \(message)" + fields.map { " \($0)" }.joined()
    }
}
