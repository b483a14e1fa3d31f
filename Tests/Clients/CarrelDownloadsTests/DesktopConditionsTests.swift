// SPDX-License-Identifier: Apache-2.0

import CarrelDownloads
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@testable import CarrelDownloadConditions

/// A bus of this test alone, with NetworkManager and UPower as python3-dbusmock plays them.
private final class MockDesktop: Sendable {
    let address: String
    private let directory = TemporaryDirectory()
    private let daemon: BackgroundProcess
    private let services = Locked<[String: BackgroundProcess]>([:])

    static let network = "org.freedesktop.NetworkManager"
    static let power = "org.freedesktop.UPower"

    init() async throws {
        let program = try requirePeer("dbus-daemon")
        let hasMock = try await runProcess(["/usr/bin/python3", "-c", "import dbusmock"]).status.isSuccess
        try Self.require(hasMock)
        address = "unix:path=\(directory.path)/bus"
        daemon = try BackgroundProcess([program, "--session", "--nofork", "--print-address=1", "--address=\(address)"])
        _ = try await daemon.waitForLine(containing: "unix:path")
    }

    private static func require(_ hasMock: Bool) throws {
        guard hasMock else { try Test.cancel("python3-dbusmock is not installed: nothing to test against") }
    }

    private var environment: [String: String] {
        ["PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": address, "DBUS_SESSION_BUS_ADDRESS": address]
    }

    /// Starts a service by its template.
    func start(_ template: String, named name: String) async throws {
        let service = try BackgroundProcess(
            ["/usr/bin/python3", "-m", "dbusmock", "--system", "--template", template],
            environment: environment
        )
        services.withLock { $0[name] = service }
        for _ in 0..<200 {
            let owner = try await send(
                "org.freedesktop.DBus",
                "/org/freedesktop/DBus",
                "org.freedesktop.DBus.NameHasOwner",
                "string:\(name)"
            )
            if owner.text.contains("boolean true") { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw TestFailure("\(name) does not start")
    }

    func stop(_ name: String) async {
        await services.withLock { $0.removeValue(forKey: name) }?.kill()
    }

    func stopBus() async { await daemon.kill() }

    /// Sets a property that exists, or adds it.
    func set(_ name: String, _ property: String, _ value: String, adds: Bool = false) async throws {
        let path = "/" + name.split(separator: ".").joined(separator: "/")
        let method = adds ? "org.freedesktop.DBus.Mock.AddProperty" : "org.freedesktop.DBus.Properties.Set"
        let result = try await send(name, path, method, "string:\(name)", "string:\(property)", "variant:\(value)")
        try #require(result.status.isSuccess, "\(result.errorText)")
    }

    func setBattery(_ property: String, _ value: String) async throws {
        let device = "/org/freedesktop/UPower/devices/DisplayDevice"
        let words = ["string:org.freedesktop.UPower.Device", "string:\(property)", "variant:\(value)"]
        let result = try await send(Self.power, device, "org.freedesktop.DBus.Properties.Set", words)
        try #require(result.status.isSuccess, "\(result.errorText)")
    }

    private func send(_ name: String, _ path: String, _ method: String, _ words: String...) async throws -> ProcessResult {
        try await send(name, path, method, words)
    }

    private func send(_ name: String, _ path: String, _ method: String, _ words: [String]) async throws -> ProcessResult {
        try await runProcess(["dbus-send", "--bus=\(address)", "--print-reply", "--dest=\(name)", path, method] + words)
    }
}

@Suite(.serialized) struct `Conditions of a desktop` {
    private static func conditions(_ address: String) -> DesktopConditions {
        DesktopConditions(
            address: address,
            BusLimits(reply: .milliseconds(500), pause: .milliseconds(100), rest: .milliseconds(10))
        )
    }

    /// Waits for a value; others may come before it.
    private func expect(
        _ network: Conditions.Network,
        _ charging: Conditions.Charging,
        _ values: inout AsyncStream<Conditions>.AsyncIterator,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let wanted = Conditions(network: network, charging: charging)
        let alarm = Task {
            try await Task.sleep(for: .seconds(20))
            Issue.record("\(wanted) did not come", sourceLocation: sourceLocation)
        }
        defer { alarm.cancel() }
        while let value = await values.next(isolation: nil) {
            if value == wanted { return }
            if alarm.isCancelled { break }
        }
    }

    @Test(.timeLimit(.minutes(2))) func `follow NetworkManager and UPower, and are unknown while a service is away`() async throws
    {
        let desktop = try await MockDesktop()
        var values = Self.conditions(desktop.address).changes().makeAsyncIterator()
        #expect(await values.next() == Conditions(), "no service is there")
        try await desktop.start("networkmanager", named: MockDesktop.network)
        try await desktop.set(MockDesktop.network, "Metered", "uint32:4", adds: true)
        // adding a property sends no signal; the next change is read with all others
        try await desktop.set(MockDesktop.network, "State", "uint32:60")
        try await expect(.unmetered, .unknown, &values)
        try await desktop.start("upower", named: MockDesktop.power)
        try await expect(.unmetered, .yes, &values)
        try await desktop.set(MockDesktop.network, "Metered", "uint32:1")
        try await expect(.metered, .yes, &values)
        try await desktop.set(MockDesktop.power, "OnBattery", "boolean:true")
        try await expect(.metered, .no, &values)
        try await desktop.set(MockDesktop.power, "OnBattery", "boolean:false")
        try await expect(.metered, .yes, &values)
        // a supply that is too weak
        try await desktop.setBattery("IsPresent", "boolean:true")
        try await desktop.setBattery("State", "uint32:2")
        try await expect(.metered, .no, &values)
        try await desktop.set(MockDesktop.network, "State", "uint32:20")
        try await expect(.none, .no, &values)
        try await desktop.set(MockDesktop.network, "State", "uint32:70")
        try await expect(.metered, .no, &values)
        try await desktop.set(MockDesktop.network, "Connectivity", "uint32:2")
        try await expect(.none, .no, &values)
        await desktop.stop(MockDesktop.network)
        try await expect(.unknown, .no, &values)
        await desktop.stopBus()
        try await expect(.unknown, .unknown, &values)
    }

    @Test(.timeLimit(.minutes(1))) func `are unknown without a bus, and with one that does not answer`() async throws {
        let directory = TemporaryDirectory()
        var absent = Self.conditions("unix:path=\(directory.path)/none").changes().makeAsyncIterator()
        #expect(await absent.next() == Conditions())
        // accepts, and never writes
        let server = LoopbackServer(unixSocketPath: "\(directory.path)/mute") { connection in
            while connection.read() != nil {}
        }
        let start = ContinuousClock.now
        var mute = Self.conditions("unix:path=\(directory.path)/mute").changes().makeAsyncIterator()
        #expect(await mute.next() == Conditions())
        #expect(ContinuousClock.now - start < .seconds(10))
        var malformed = Self.conditions("no address").changes().makeAsyncIterator()
        #expect(await malformed.next() == Conditions())
        withExtendedLifetime(server) {}
    }

    @Test(.timeLimit(.minutes(2))) func `leave no thread and no file when their consumers end`() async throws {
        let desktop = try await MockDesktop()
        try await desktop.start("upower", named: MockDesktop.power)
        func count() -> Int { Self.openFiles() }
        let before = count()
        for _ in 0..<20 {
            var values = Self.conditions(desktop.address).changes().makeAsyncIterator()
            #expect(await values.next()?.charging == .yes)
        }
        for _ in 0..<20 {
            var values = Self.conditions("unix:path=/none").changes().makeAsyncIterator()
            #expect(await values.next() == Conditions())
        }
        try await eventually { count() <= before + 2 && Self.threads() == 0 }
    }

    private static func names(_ folder: String) -> [String] {
        guard let directory = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            names.append(
                unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                    unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
                }
            )
        }
        return names
    }

    private static func openFiles() -> Int { names("/proc/self/fd").count }

    /// Threads that watch a bus.
    private static func threads() -> Int {
        names("/proc/self/task").count { task in
            String(decoding: Fixtures.bytes(at: "/proc/self/task/\(task)/comm") ?? [], as: UTF8.self).hasPrefix("conditions")
        }
    }

    // MARK: - The rules

    @Test(
        arguments: [
            (["State": 70, "Connectivity": 4, "Metered": 2], .unmetered), (["State": 70, "Metered": 4], .unmetered),
            (["State": 70, "Metered": 3], .metered), (["State": 60, "Connectivity": 3, "Metered": 1], .metered),
            (["State": 70, "Metered": 0], .unknown), (["State": 70], .unknown), ([:], .unknown), (["State": 0], .unknown),
            (["State": 10], .none), (["State": 50, "Metered": 2], .none),
            (["State": 70, "Connectivity": 1, "Metered": 2], .none),
            (["State": 70, "Connectivity": 2, "Metered": 2], .none), (["State": 4_000_000_000, "Metered": 77], .unknown),
        ] as [([String: UInt32], Conditions.Network)]
    )
    func `name the network by its properties`(properties: [String: UInt32], network: Conditions.Network) {
        #expect(DesktopWatch.network(properties) == network)
    }

    @Test(
        arguments: [
            ([:], [:], .unknown), (["OnBattery": 1], [:], .no), (["OnBattery": 0], [:], .yes),
            (["OnBattery": 0], ["IsPresent": 1, "State": 1], .yes), (["OnBattery": 0], ["IsPresent": 1, "State": 4], .yes),
            (["OnBattery": 0], ["IsPresent": 1, "State": 2], .no), (["OnBattery": 0], ["IsPresent": 0, "State": 2], .yes),
            (["OnBattery": 1], ["IsPresent": 1, "State": 1], .no),
        ] as [([String: UInt32], [String: UInt32], Conditions.Charging)]
    )
    func `name the power supply by its properties`(
        power: [String: UInt32],
        battery: [String: UInt32],
        charging: Conditions.Charging
    ) {
        #expect(DesktopWatch.charging(power, battery) == charging)
    }
}
