import CarrelCommandLine
import CarrelServer
import CarrelSettings
import Glibc

/// Where browsers reach a home's server, for commands that print links into it.
struct LinkBase: ParameterGroup, Sendable {
    var url: String?
    var options = HomeOptions()

    static var parameters: [Parameter<LinkBase>] {
        [
            .option(
                \.url,
                "--url",
                value: "url",
                help: "Where browsers reach the server; without it, where the server says that it is."
            )
        ] + Parameter.group(\.options)
    }

    /// The address of a path on the server: below what `--url` says, what the settings call the public address, where the server
    /// that runs listens, or where one would.
    func address(of path: String, _ console: Console) throws -> String {
        let base = try url ?? usual(console)
        return (base.hasSuffix("/") ? String(base.dropLast()) : base) + path
    }

    private func usual(_ console: Console) throws -> String {
        let home = try options.find()
        let settings = try LoadedSettings(home: home, overrides: SettingOverrides(), console: console).values
        let running = HomeClient.accepts(home.socketPath) ? Self.note(in: home.lockPath) : nil
        return settings.publicURL ?? running ?? "http://127.0.0.1:\(settings.port)"
    }

    /// What the server left in the file of its lock.
    private static func note(in path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 10)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        return count > 0 ? String(validating: bytes.prefix(count), as: UTF8.self) : nil
    }
}
