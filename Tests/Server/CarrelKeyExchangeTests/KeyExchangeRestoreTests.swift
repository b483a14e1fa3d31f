// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
import CarrelRestoring
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Testing

struct `A packager's keys` {
    @Test func `stay the same when a backup is restored, also keys that are newer than the backup`() async throws {
        let packager = try await Packager()
        let test = packager.test
        let old = try Packager.keys(try await packager.send().body)
        let backup = test.directory.file("backup.db")
        try await #require(test.service.database as? SQLiteDatabase).backup(to: backup)
        let newer = KeyID(label: "newer")
        let new = try Packager.keys(try await packager.send(body: Packager.request("newer film", kids: [newer])).body)
        await test.service.database.close()
        let home = try Home(at: test.directory.path)
        _ = try await CarrelService.restore(home, from: backup, clock: test.clock)
        let service = try await CarrelService.open(home, clock: test.clock)
        #expect(try Packager.keys(try await packager.send(to: service).body) == old)
        let again = try await packager.send(body: Packager.request("newer film", kids: [newer]), to: service)
        #expect(try again.status == 200 && Packager.keys(again.body) == new)
        // the contents of the keys are restored too
        #expect(try await packager.send(body: Packager.request("film", kids: [newer]), to: service).status == 409)
        await service.database.close()
    }
}
