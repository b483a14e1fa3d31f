// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
import CarrelPostgres
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Glibc
import Testing

/// When a home, its database and its master key are created.
@Suite(.onBothDatabases)
struct `A home` {
    private let directory = TemporaryDirectory()
    private let clock = ManualClock(Instant(milliseconds: 1_800_000_000_000))

    private func open(_ home: Home, _ address: String?, missing: Home.Missing) async throws {
        let database: (any Database)? =
            if let address { try PostgresDatabase(address, migrations: Schema.migrations, connections: 4) } else { nil }
        do {
            try await CarrelService.open(home, database: database, missing: missing, clock: clock).database.close()
        } catch {
            await database?.close()
            throw error
        }
    }

    private func newAddress() async throws -> String? {
        switch Engine.current {
        case .sqlite: nil
        case .postgres: try await PrivatePostgres.shared().newDatabase()
        }
    }

    @Test func `is not created by a command that only uses one`() async throws {
        let path = directory.file("home")
        let caught = #expect(throws: ServerError.self) { try Home(at: path) }
        #expect(caught?.code == .homeMissing)
        let home = try Home(at: path, missing: .create)
        #expect(unsafe access(path, F_OK) != 0, "finding one changes nothing")
        try home.make()
        let address = try await newAddress()
        let refused = await #expect(throws: ServerError.self) { try await open(home, address, missing: .refuse) }
        #expect(refused?.code == .homeMissing)
        #expect(!home.hasDatabase && !MasterKeyring.isMade(for: home))
        try await open(home, address, missing: .create)
        try await open(try Home(at: path), address, missing: .refuse)
    }

    @Test func `gets no second master key when its key is missing`() async throws {
        let home = try Home(at: directory.file("home"), missing: .create)
        let address = try await newAddress()
        try await open(home, address, missing: .create)
        let key = try #require(directory.read("home/master.key"))
        try await checkProcess(["rm", home.masterKeyPath])
        for missing in [Home.Missing.refuse, .create] {
            let caught = await #expect(throws: ServerError.self) { try await open(home, address, missing: missing) }
            #expect(caught?.code == .masterKey)
            #expect(caught?.message.contains("restore your separate copy") == true)
            #expect(!MasterKeyring.isMade(for: home))
        }
        directory.write("home/master.key", key)
        _ = unsafe chmod(home.masterKeyPath, 0o600)
        try await open(home, address, missing: .refuse)
    }

    @Test func `that a start left without a key is completed by the next`() async throws {
        let home = try Home(at: directory.file("home"), missing: .create)
        let address = try await newAddress()
        try home.make()
        if let address {
            try await PostgresDatabase(address, migrations: Schema.migrations, connections: 3).close()
        } else {
            try await CarrelService.openDatabase(home, missing: .create).close()
        }
        let caught = await #expect(throws: ServerError.self) { try await open(home, address, missing: .refuse) }
        #expect(caught?.code == .homeMissing)
        try await open(home, address, missing: .create)
        #expect(MasterKeyring.isMade(for: home))
    }
}
