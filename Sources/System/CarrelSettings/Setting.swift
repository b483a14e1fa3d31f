// SPDX-License-Identifier: Apache-2.0

package import CarrelCommandLine

/// One row of a settings table: a property of `Root`, its names and its purpose.
///
/// ```swift
/// Setting(\.port, "http.port", flags: ["--port", "-p"], allowed: .range(0...65_535), help: "The port to listen on.")
/// ```
package struct Setting<Root>: Sendable {
    /// Its name in the file: lower-case words separated by dots, the first names the component, such as `http.port`.
    package let name: String
    /// Its purpose, as one sentence.
    package let help: String
    /// The placeholder of the value in help.
    package let valueName: String
    /// Every way to write the value, when there are few.
    package let choices: [String]
    /// The allowed values, in words.
    package let allowed: String?
    /// Whether its value is never shown and never taken from the command line, where others could read it.
    package let isSecret: Bool
    /// Whether it holds several values, separated by commas.
    package let isList: Bool
    /// The command-line flags, the derived form first; none for a secret.
    package let flags: [String]
    /// Whether the value is true or false.
    let isSwitch: Bool
    /// Stores the written texts, one per value.
    let read: @Sendable (inout Root, [String]) throws(InvalidValue) -> Void
    /// The values as they would be written; nil if there is none.
    let texts: @Sendable (Root) -> [String]?

    /// A setting with one value.
    ///
    /// - Parameters:
    ///   - path: the property; its value in `Root()` is the default.
    ///   - name: the name in the file.
    ///   - flags: command-line flags in addition to `--http-port`.
    ///   - value: the placeholder in help; by default the type's own.
    ///   - allowed: the allowed values.
    ///   - isSecret: whether the value is never shown.
    ///   - help: its purpose, as one sentence.
    package init<Value: TextValue>(
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        _ name: String,
        flags: [String] = [],
        value: String? = nil,
        allowed: Allowed<Value> = .everything,
        isSecret: Bool = false,
        help: String
    ) {
        self.init(
            name,
            Value.self,
            flags,
            value,
            allowed,
            isSecret,
            isList: false,
            help,
            read: { (root, texts) throws(InvalidValue) in root[keyPath: path] = try Setting.read(texts.last ?? "", allowed) },
            texts: { [$0[keyPath: path].written] }
        )
    }

    /// A setting that may be absent: its property is nil then.
    package init<Value: TextValue>(
        _ path: any WritableKeyPath<Root, Value?> & Sendable,
        _ name: String,
        flags: [String] = [],
        value: String? = nil,
        allowed: Allowed<Value> = .everything,
        isSecret: Bool = false,
        help: String
    ) {
        self.init(
            name,
            Value.self,
            flags,
            value,
            allowed,
            isSecret,
            isList: false,
            help,
            read: { (root, texts) throws(InvalidValue) in root[keyPath: path] = try Setting.read(texts.last ?? "", allowed) },
            texts: { $0[keyPath: path].map { [$0.written] } }
        )
    }

    /// A setting with several values, separated by commas. A written value replaces the default; `""` means none.
    package init<Value: TextValue>(
        _ path: any WritableKeyPath<Root, [Value]> & Sendable,
        _ name: String,
        flags: [String] = [],
        value: String? = nil,
        allowed: Allowed<Value> = .everything,
        isSecret: Bool = false,
        help: String
    ) {
        self.init(
            name,
            Value.self,
            flags,
            value,
            allowed,
            isSecret,
            isList: true,
            help,
            read: { (root, texts) throws(InvalidValue) in
                var values: [Value] = []
                for text in texts { values.append(try Setting.read(text, allowed)) }
                root[keyPath: path] = values
            },
            texts: { $0[keyPath: path].map(\.written) }
        )
    }

    private init<Value: TextValue>(
        _ name: String,
        _ type: Value.Type,
        _ flags: [String],
        _ value: String?,
        _ allowed: Allowed<Value>,
        _ isSecret: Bool,
        isList: Bool,
        _ help: String,
        read: @escaping @Sendable (inout Root, [String]) throws(InvalidValue) -> Void,
        texts: @escaping @Sendable (Root) -> [String]?
    ) {
        self.name = name
        self.help = help
        valueName = value ?? type.valueName
        choices = type.choices
        self.allowed = allowed.explanation
        self.isSecret = isSecret
        self.isList = isList
        self.flags = isSecret ? [] : ["--\(name.map { $0 == "." ? "-" : "\($0)" }.joined())"] + flags
        isSwitch = type == Bool.self && !isList
        self.read = read
        self.texts = texts
    }

    private static func read<Value: TextValue>(_ text: String, _ allowed: Allowed<Value>) throws(InvalidValue) -> Value {
        let value = try Value(written: text)
        try allowed.check(value)
        return value
    }

    /// As the environment says it, such as `CARREL_HTTP_PORT`.
    package var environmentName: String {
        "CARREL_\(name.uppercased().map { $0 == "." || $0 == "-" ? "_" : "\($0)" }.joined())"
    }
}
