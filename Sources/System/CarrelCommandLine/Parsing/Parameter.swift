// SPDX-License-Identifier: Apache-2.0

/// One row of a command's table: a property of `Root`, its syntax and its help.
package struct Parameter<Root>: Sendable {
    /// All but the effect.
    package internal(set) var description: ParameterDescription
    /// The effect of one time that it is written: takes the value; of a flag `true`, of its inverse `false`.
    let apply: @Sendable (inout Root, String) throws(InvalidValue) -> Void
    /// The property's value as it would be written; nil if there is none.
    let current: @Sendable (Root) -> String?

    /// A row whose effect is more than to fill a property.
    ///
    /// - Parameters:
    ///   - description: all but the effect.
    ///   - apply: the effect of one time that it is written: takes the value; of a flag `true`, of its inverse `false`.
    ///   - current: the value as it would be written; nil if there is none.
    package init(
        description: ParameterDescription,
        apply: @escaping @Sendable (inout Root, String) throws(InvalidValue) -> Void,
        current: @escaping @Sendable (Root) -> String?
    ) {
        self.description = description
        self.apply = apply
        self.current = current
    }

    /// Returns the same row for a property of `Outer`.
    package func lifted<Outer>(to path: any WritableKeyPath<Outer, Root> & Sendable) -> Parameter<Outer> {
        let apply = apply
        let current = current
        return Parameter<Outer>(
            description: description,
            apply: { (root, text) throws(InvalidValue) in try apply(&root[keyPath: path], text) },
            current: { current($0[keyPath: path]) }
        )
    }
}

extension Parameter {
    /// An option with one value: `--port <number>`.
    ///
    /// - Parameters:
    ///   - path: the property; its value in `Root()` is the default shown in help.
    ///   - names: `--port`, `-p`.
    ///   - value: the placeholder in help; by default the type's own.
    ///   - help: its purpose, as one sentence.
    ///   - group: its heading in help.
    ///   - required: whether it is required.
    ///   - allowed: the allowed values.
    ///   - environment: the environment variable used if the option is missing.
    ///   - completion: the shell completions; by default the type's choices.
    /// - Returns: the row.
    package static func option<Value: TextValue>(
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        _ names: String...,
        value: String? = nil,
        help: String,
        group: String? = nil,
        required: Bool = false,
        allowed: Allowed<Value> = .everything,
        environment: String? = nil,
        completion: ParameterDescription.Completion? = nil
    ) -> Parameter {
        var about = describe(Value.self, .option, names, value, help, group, allowed, environment, completion)
        about.isRequired = required
        return Parameter(
            description: about,
            apply: { (root, text) throws(InvalidValue) in root[keyPath: path] = try read(text, allowed) },
            current: { required ? nil : $0[keyPath: path].written }
        )
    }

    /// An option that may be absent: its property is nil then.
    package static func option<Value: TextValue>(
        _ path: any WritableKeyPath<Root, Value?> & Sendable,
        _ names: String...,
        value: String? = nil,
        help: String,
        group: String? = nil,
        allowed: Allowed<Value> = .everything,
        environment: String? = nil,
        completion: ParameterDescription.Completion? = nil
    ) -> Parameter {
        Parameter(
            description: describe(Value.self, .option, names, value, help, group, allowed, environment, completion),
            apply: { (root, text) throws(InvalidValue) in root[keyPath: path] = try read(text, allowed) },
            current: { $0[keyPath: path]?.written }
        )
    }

    /// An option that may be written several times; the values are kept in that order.
    package static func option<Value: TextValue>(
        _ path: any WritableKeyPath<Root, [Value]> & Sendable,
        _ names: String...,
        value: String? = nil,
        help: String,
        group: String? = nil,
        required: Bool = false,
        allowed: Allowed<Value> = .everything,
        completion: ParameterDescription.Completion? = nil
    ) -> Parameter {
        var about = describe(Value.self, .option, names, value, help, group, allowed, nil, completion)
        about.isRequired = required
        about.isRepeated = true
        return Parameter(
            description: about,
            apply: { (root, text) throws(InvalidValue) in root[keyPath: path].append(try read(text, allowed)) },
            current: { _ in nil }
        )
    }

    /// A flag without a value.
    ///
    /// - Parameters:
    ///   - path: the property.
    ///   - names: `--verbose`, `-v`.
    ///   - inverse: whether `--no-verbose` exists too; for a property that is true by default, or that overrides a setting.
    ///   - help: its effect, as one sentence.
    ///   - group: its heading in help.
    /// - Returns: the row.
    package static func flag(
        _ path: any WritableKeyPath<Root, Bool> & Sendable,
        _ names: String...,
        inverse: Bool = false,
        help: String,
        group: String? = nil
    ) -> Parameter {
        let long = names.first { $0.hasPrefix("--") }
        let opposite = inverse ? long.map { "--no-\($0.dropFirst(2))" } : nil
        return Parameter(
            description: ParameterDescription(kind: .flag(inverse: opposite), names: names, help: help, group: group),
            apply: { (root, text) throws(InvalidValue) in
                root[keyPath: path] = try Bool(written: text)
            },
            current: { inverse ? ($0[keyPath: path] ? "on" : "off") : nil }
        )
    }

    /// An argument that must be there.
    package static func positional<Value: TextValue>(
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        _ name: String,
        help: String,
        allowed: Allowed<Value> = .everything,
        completion: ParameterDescription.Completion? = nil
    ) -> Parameter {
        var about = describe(Value.self, .positional, [name], name, help, nil, allowed, nil, completion)
        about.isRequired = true
        return Parameter(
            description: about,
            apply: { (root, text) throws(InvalidValue) in root[keyPath: path] = try read(text, allowed) },
            current: { _ in nil }
        )
    }

    /// An argument that may be absent.
    package static func positional<Value: TextValue>(
        _ path: any WritableKeyPath<Root, Value?> & Sendable,
        _ name: String,
        help: String,
        allowed: Allowed<Value> = .everything,
        completion: ParameterDescription.Completion? = nil
    ) -> Parameter {
        Parameter(
            description: describe(Value.self, .positional, [name], name, help, nil, allowed, nil, completion),
            apply: { (root, text) throws(InvalidValue) in root[keyPath: path] = try read(text, allowed) },
            current: { _ in nil }
        )
    }

    /// All arguments that are left; the last row of its kind.
    package static func positional<Value: TextValue>(
        _ path: any WritableKeyPath<Root, [Value]> & Sendable,
        _ name: String,
        help: String,
        required: Bool = false,
        allowed: Allowed<Value> = .everything,
        completion: ParameterDescription.Completion? = nil
    ) -> Parameter {
        var about = describe(Value.self, .positional, [name], name, help, nil, allowed, nil, completion)
        about.isRequired = required
        about.isRepeated = true
        return Parameter(
            description: about,
            apply: { (root, text) throws(InvalidValue) in root[keyPath: path].append(try read(text, allowed)) },
            current: { _ in nil }
        )
    }

    private static func describe<Value: TextValue>(
        _ type: Value.Type,
        _ kind: ParameterDescription.Kind,
        _ names: [String],
        _ value: String?,
        _ help: String,
        _ group: String?,
        _ allowed: Allowed<Value>,
        _ environment: String?,
        _ completion: ParameterDescription.Completion?
    ) -> ParameterDescription {
        var about = ParameterDescription(kind: kind, names: names, valueName: value ?? type.valueName, help: help, group: group)
        about.allowed = allowed.explanation
        about.environment = environment
        about.completion = completion ?? (type.choices.isEmpty ? .nothing : .words(type.choices))
        return about
    }

    private static func read<Value: TextValue>(_ text: String, _ allowed: Allowed<Value>) throws(InvalidValue) -> Value {
        let value = try Value(written: text)
        try allowed.check(value)
        return value
    }
}
