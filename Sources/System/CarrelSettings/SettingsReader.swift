// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine

/// Reads settings from several sources, each overriding the previous one, and collects problems.
struct SettingsReader<Table: SettingsTable> {
    private let settings = Table.settings
    private var values = Table()
    private var origins: [String: SettingOrigin] = [:]
    private var problems: [SettingsError.Problem] = []
    private var warnings: [String] = []

    mutating func take(_ file: SettingsFile) {
        problems += file.problems
        var lines: [String: Int] = [:]
        for entry in file.entries {
            let origin = SettingOrigin.file(path: file.path, line: entry.line)
            guard let setting = settings.first(where: { $0.name == entry.key }) else {
                let hint = Suggestion.hint(for: entry.key, among: settings.map(\.name))
                problems.append(.init(code: .unknown, origin: origin, message: "there is no setting '\(entry.key)'", hint: hint))
                continue
            }
            if let line = lines[entry.key] {
                problems.append(
                    .init(code: .repeated, origin: origin, message: "\(entry.key) is already in line \(line)", hint: nil)
                )
                continue
            }
            lines[entry.key] = entry.line
            do throws(BadLine) {
                let texts = try setting.isList ? SettingsLine.values(entry.value) : [SettingsLine.value(entry.value)]
                apply(setting, texts, origin)
            } catch {
                problems.append(.init(code: .syntax, origin: origin, message: "\(entry.key): \(error.message)", hint: error.hint))
            }
            if setting.isSecret, file.isReadableByOthers {
                warnings.append(
                    "\(file.path) holds the secret \(setting.name) and others may read it; chmod 600 takes that right from them"
                )
            }
        }
        problems.sort { $0.line < $1.line }
    }

    mutating func take(_ environment: [String: String]) {
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("CARREL_") && !text.isEmpty {
            let origin = SettingOrigin.environment(name)
            guard let setting = settings.first(where: { $0.environmentName == name }) else {
                guard !Table.otherVariables.contains(name), !isServiceLink(name, text) else { continue }
                let hint = Suggestion.hint(for: name, among: settings.map(\.environmentName))
                problems.append(.init(code: .unknown, origin: origin, message: "no setting has this variable", hint: hint))
                continue
            }
            apply(setting, setting.isList ? splitList(text) : [text], origin)
        }
    }

    /// Kubernetes describes a namespace's services to every container in variables; the variables of a service called carrel have
    /// our prefix.
    private func isServiceLink(_ name: String, _ text: String) -> Bool {
        if name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT") { return true }
        if name.hasSuffix("_PORT"), text.contains("://") { return true }
        let words = name.split(separator: "_")
        return zip(words, words.dropFirst()).contains { $0 == "PORT" && Int($1) != nil }
    }

    mutating func take(_ overrides: SettingOverrides<Table>) {
        for setting in settings {
            guard let (texts, flag) = overrides.texts[setting.name] else { continue }
            apply(setting, setting.isList ? texts.flatMap(splitList) : texts, .flag(flag))
        }
    }

    private func splitList(_ text: String) -> [String] {
        text.split(separator: ",").map { part in
            var part = part.drop { $0 == " " }
            while part.last == " " { part.removeLast() }
            return String(part)
        }.filter { !$0.isEmpty }
    }

    private mutating func apply(_ setting: Setting<Table>, _ texts: [String], _ origin: SettingOrigin) {
        do {
            try setting.read(&values, texts)
            origins[setting.name] = origin
        } catch {
            let text = setting.isSecret ? "the value" : "'\(texts.joined(separator: ", "))'"
            problems.append(
                .init(code: .badValue, origin: origin, message: "\(setting.name): \(text) \(error.reason)", hint: error.hint)
            )
        }
    }

    consuming func finish() throws(SettingsError) -> (values: Table, warnings: [String], origins: [String: SettingOrigin]) {
        if problems.isEmpty {
            for (name, problem) in values.contradictions {
                problems.append(
                    .init(code: .contradiction, origin: origins[name] ?? .builtIn, message: "\(name) \(problem)", hint: nil)
                )
            }
        }
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
        return (values, warnings, origins)
    }
}

extension SettingsError.Problem {
    fileprivate var line: Int {
        if case .file(_, let line) = origin { line } else { .max }
    }
}
