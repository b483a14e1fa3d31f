// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// A session bus of this run's own, with or without GNOME Keyring.
final class Keyring: Sendable {
    let address: String
    private let directory: TemporaryDirectory
    private let bus: BackgroundProcess
    private let daemon: BackgroundProcess?

    private static let starting = Locked<Task<Keyring, any Error>?>(nil)

    /// The bus of this process, with an unlocked keyring; started by the first call.
    static func shared() async throws -> Keyring {
        _ = try requirePeer("dbus-daemon")
        _ = try requirePeer("gnome-keyring-daemon")
        let task = starting.withLock { task in
            if let task { return task }
            let new = Task {
                let keyring = try await Keyring()
                unsafe setenv("DBUS_SESSION_BUS_ADDRESS", keyring.address, 1)
                return keyring
            }
            task = new
            atexit { Keyring.stop() }
            return new
        }
        return try await task.value
    }

    /// Ends it with the run, and removes its files.
    private static func stop() {
        starting.withLock { $0 = nil }
    }

    /// A bus of a test's own, which programs reach by ``environment``.
    init(hasService: Bool = true) async throws {
        let program = try requirePeer("dbus-daemon")
        let keyring = try requirePeer("gnome-keyring-daemon")
        directory = TemporaryDirectory()
        let socket = directory.file("bus")
        // without folders of services: nothing is started by a call
        let settings = directory.write(
            "bus.conf",
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
              "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>session</type><listen>unix:path=\(socket)</listen><auth>EXTERNAL</auth><policy context="default">
            <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
            """
        )
        bus = try BackgroundProcess([program, "--config-file=\(settings)", "--nofork", "--print-address"])
        _ = try await bus.waitForLine(containing: "unix:path=")
        address = "unix:path=\(socket)"
        guard hasService else {
            daemon = nil
            return
        }
        let command = [
            keyring, "--foreground", "--unlock", "--components=secrets", "--control-directory=\(directory.file("control"))",
        ]
        let environment = Self.environment(address, directory.path)
        let daemon = try BackgroundProcess(command, environment: environment, input: Array("the user's password".utf8))
        self.daemon = daemon
        _ = try await daemon.waitForLine(containing: "GNOME_KEYRING_CONTROL")
        // it takes its name on the bus a moment later
        for _ in 0..<100 {
            if try await isUnlocked() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("the keyring was not unlocked: \(daemon.errors)")
    }

    /// For programs that use this bus.
    var environment: [String: String] { Self.environment(address, directory.path) }

    /// Locks the keyring.
    func lock() async throws {
        let path = "/org/freedesktop/secrets/collection/login"
        try await call(["/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock", "array:objpath:\(path)"])
    }

    /// Stops the service where it is: its name stays on the bus, and nothing is answered.
    func freeze() { daemon?.signal(SIGSTOP) }

    func thaw() { daemon?.signal(SIGCONT) }

    private func isUnlocked() async throws -> Bool {
        let result = try await send([
            "/org/freedesktop/secrets/aliases/default", "org.freedesktop.DBus.Properties.Get",
            "string:org.freedesktop.Secret.Collection", "string:Locked",
        ])
        return result.status.isSuccess && result.text.contains("boolean false")
    }

    private func call(_ words: [String]) async throws {
        let result = try await send(words)
        #expect(result.status.isSuccess, "\(result.errorText)")
    }

    private func send(_ words: [String]) async throws -> ProcessResult {
        let command = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.secrets"]
        return try await runProcess(command + words, environment: environment)
    }

    private static func environment(_ address: String, _ folder: String) -> [String: String] {
        [
            "DBUS_SESSION_BUS_ADDRESS": address, "HOME": folder, "XDG_DATA_HOME": "\(folder)/data", "XDG_RUNTIME_DIR": folder,
            "XDG_CACHE_HOME": "\(folder)/cache", "XDG_CONFIG_HOME": "\(folder)/config", "PATH": "/usr/bin:/bin",
        ]
    }
}
