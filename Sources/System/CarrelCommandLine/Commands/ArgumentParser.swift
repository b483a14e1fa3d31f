// SPDX-License-Identifier: Apache-2.0

/// Reads the words after a command's name into its properties.
///
/// `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value`; short flags may share a dash (`-vq`); after `--` every word
/// is an argument. An option may be written once, unless its property is an array.
struct ArgumentParser<C: Command> {
    private let parameters = C.parameters
    private let environment: [String: String]
    private let call: String
    private var command = C()
    private var seen: Set<Int> = []
    private var arguments = 0

    init(call: String, environment: [String: String]) {
        self.call = call
        self.environment = environment
    }

    consuming func parse(_ words: [String]) throws(UsageError) -> C {
        var remainder = words[...]
        var onlyArguments = false
        while let word = remainder.popFirst() {
            if onlyArguments || !looksLikeOption(word) {
                try takeArgument(word)
            } else if word == "--" {
                onlyArguments = true
            } else if word.hasPrefix("--") {
                try takeLong(word, &remainder)
            } else {
                try takeCluster(word, &remainder)
            }
        }
        try takeEnvironment()
        try findMissing()
        try command.validate()
        return command
    }

    /// A dash alone is an argument (standard input, by custom), and so is a negative number.
    private func looksLikeOption(_ word: String) -> Bool {
        word.hasPrefix("-") && word != "-" && (Double(word) == nil || find(String(word.prefix(2))) != nil)
    }

    private func find(_ name: String) -> Int? {
        parameters.firstIndex { $0.description.kind != .positional && $0.description.allNames.contains(name) }
    }

    private mutating func takeLong(_ word: String, _ remainder: inout ArraySlice<String>) throws(UsageError) {
        let equals = word.firstIndex(of: "=")
        let name = String(word[..<(equals ?? word.endIndex)])
        let value = equals.map { String(word[word.index(after: $0)...]) }
        guard let index = find(name) else { throw unknown(name) }
        let about = parameters[index].description
        guard about.takesValue else {
            guard value == nil else { throw UsageError(.unexpectedValue, "\(name) takes no value") }
            return try store(index, isInverse(about, name) ? "false" : "true", as: name)
        }
        let text = if let value { value } else { try next(&remainder, for: name, about) }
        try store(index, text, as: name)
    }

    private mutating func takeCluster(_ word: String, _ remainder: inout ArraySlice<String>) throws(UsageError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            guard let index = find(name) else { throw unknown(name, in: word) }
            let about = parameters[index].description
            guard about.takesValue else {
                try store(index, "true", as: name)
                continue
            }
            if letters.first == "=" { letters.removeFirst() }
            let value = letters.isEmpty && !word.hasSuffix("=") ? try next(&remainder, for: name, about) : String(letters)
            return try store(index, value, as: name)
        }
    }

    private func isInverse(_ about: ParameterDescription, _ name: String) -> Bool {
        if case .flag(let inverse) = about.kind { inverse == name } else { false }
    }

    private func next(_ remainder: inout ArraySlice<String>, for name: String, _ about: ParameterDescription) throws(UsageError)
        -> String
    {
        guard let value = remainder.first else {
            throw UsageError(.missingValue, "\(name) needs a value: \(name) <\(about.valueName)>")
        }
        if looksLikeOption(value) {
            throw UsageError(
                .missingValue,
                "\(name) needs a value, and '\(value)' looks like an option",
                hint: name.hasPrefix("--") ? "if it is the value, write \(name)=\(value)" : nil
            )
        }
        remainder.removeFirst()
        return value
    }

    private mutating func store(_ index: Int, _ text: String, as name: String) throws(UsageError) {
        guard seen.insert(index).inserted || parameters[index].description.isRepeated else {
            throw UsageError(.repeatedOption, "\(name) is written twice")
        }
        try apply(index, text, called: name)
    }

    private mutating func takeArgument(_ word: String) throws(UsageError) {
        let places = parameters.indices.filter { parameters[$0].description.kind == .positional }
        guard let last = places.last, arguments < places.count || parameters[last].description.isRepeated else {
            throw UsageError(.unexpectedArgument, "'\(word)' is one word too many for '\(call)'")
        }
        let index = places[min(arguments, places.count - 1)]
        arguments += 1
        seen.insert(index)
        try apply(index, word, called: parameters[index].description.title)
    }

    private mutating func apply(_ index: Int, _ text: String, called name: String) throws(UsageError) {
        do {
            try parameters[index].apply(&command, text)
        } catch {
            throw UsageError(.badValue, "\(name): '\(text)' \(error.reason)", hint: error.hint)
        }
    }

    private mutating func takeEnvironment() throws(UsageError) {
        for index in parameters.indices where !seen.contains(index) {
            guard let name = parameters[index].description.environment, let text = environment[name], !text.isEmpty else {
                continue
            }
            seen.insert(index)
            try apply(index, text, called: "\(name) (environment)")
        }
    }

    private func findMissing() throws(UsageError) {
        for index in parameters.indices where !seen.contains(index) && parameters[index].description.isRequired {
            let about = parameters[index].description
            let name = about.kind == .positional ? about.title : "\(about.title) <\(about.valueName)>"
            throw UsageError(.missingArgument, "'\(call)' needs \(name): \(about.help.sentencePart)")
        }
    }

    private func unknown(_ name: String, in cluster: String? = nil) -> UsageError {
        let names = parameters.filter { $0.description.kind != .positional }.flatMap(\.description.allNames) + ["--help"]
        let location = cluster == nil || cluster == name ? "" : " (in '\(cluster ?? "")')"
        let long = cluster.map { "-\($0)" }  // a long name written with one dash
        if let long, names.contains(long) {
            return UsageError(.unknownOption, "'\(call)' has no option '\(name)'\(location)", hint: "did you mean '\(long)'?")
        }
        return UsageError(
            .unknownOption,
            "'\(call)' has no option '\(name)'\(location)",
            hint: cluster == nil ? Suggestion.hint(for: name, among: names.filter { $0.hasPrefix("--") }) : nil
        )
    }
}

extension String {
    /// A sentence of help as the end of another: without its capital and its period.
    fileprivate var sentencePart: String {
        let body = hasSuffix(".") ? dropLast() : self[...]
        let second = body.dropFirst().first
        return second?.isUppercase == true ? String(body) : body.prefix(1).lowercased() + body.dropFirst()
    }
}
