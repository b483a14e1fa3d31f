// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// The command table for machines: everything help knows.
struct CommandJSON {
    private let about: CommandDescription

    init(_ about: CommandDescription) {
        self.about = about
    }

    var text: String { String(decoding: describe(about).writePretty(), as: UTF8.self) }

    private func describe(_ command: CommandDescription) -> JSON {
        [
            "name": .string(command.name),
            "call": .string(command.call),
            "synopsis": .string(command.synopsis),
            "abstract": .string(command.abstract),
            "discussion": .string(command.discussion),
            "examples": .array(command.examples.map { ["line": .string($0.line), "explanation": .string($0.explanation)] }),
            "parameters": .array(command.parameters.map(describe)),
            "commands": .array(command.subcommands.map(describe)),
        ]
    }

    private func describe(_ parameter: ParameterDescription) -> JSON {
        var members: JSONObject = [
            "kind": kind(parameter.kind),
            "names": words(parameter.allNames),
            "help": .string(parameter.help),
            "required": .bool(parameter.isRequired),
            "repeated": .bool(parameter.isRepeated),
        ]
        let texts = [
            ("value", parameter.valueName.isEmpty ? nil : parameter.valueName), ("group", parameter.group),
            ("allowed", parameter.allowed), ("default", parameter.defaultText), ("environment", parameter.environment),
        ]
        for case (let name, let text?) in texts { members[name] = .string(text) }
        if case .words(let choices) = parameter.completion { members["choices"] = words(choices) }
        return .object(members)
    }

    private func kind(_ kind: ParameterDescription.Kind) -> JSON {
        switch kind {
        case .option: "option"
        case .flag: "flag"
        case .positional: "argument"
        }
    }

    private func words(_ words: [String]) -> JSON { .array(words.map { .string($0) }) }
}
