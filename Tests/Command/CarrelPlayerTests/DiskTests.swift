// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import Glibc
import Testing

/// The command on disks that have no room or take no writes: small file systems in memory, mounted where only the test sees
/// them, in a user namespace of its own.
@Suite(.enabled("this system gives tests no mounts of their own (unshare -Urm)") { await Mounts.areAllowed() })
struct `The command on a disk` {
    private let directory = TemporaryDirectory()

    /// Runs a script with a file system of `size` at `$DISK`; the command under test is `$CARREL`.
    private func script(_ size: String, _ lines: String) async throws -> (
        status: CarrelTesting.ExitStatus, output: String, errors: String
    ) {
        let disk = directory.file("disk")
        unsafe mkdir(disk, 0o700)
        let text = "mount -t tmpfs -o size=\(size) tmpfs \(disk) || exit 99\nDISK=\(disk)\nCARREL=\(DemoServer.program)\n\(lines)"
        let result = try await runProcess(["unshare", "-Urm", "bash", "-uc", text], timeout: .seconds(120))
        return (result.status, result.text, result.errorText)
    }

    private func makeSound(_ name: String, seconds: Int, _ codec: [String]) async throws -> String {
        let path = directory.file(name)
        let source = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=\(seconds)"]
        try await checkProcess(source + codec + [path])
        return path
    }

    /// Whatever the step at which the disk becomes full: the ingest says which disk, keeps nothing, and works later.
    @Test(arguments: [
        ("tone.mp3", ["-c:a", "libmp3lame", "-b:a", "64k"]), ("tone.m4a", ["-c:a", "aac", "-b:a", "64k"]), ("tone.flac", []),
    ])
    func `that becomes full during an ingest says so, keeps nothing, and takes it once there is room`(
        name: String,
        codec: [String]
    ) async throws {
        let path = try await makeSound(name, seconds: 120, codec)
        var refusals = 0
        // Room for the database alone, for a part of the sound, for the sound without the sample, for nearly all.
        for room in ["500k", "800k", "1200k", "1250k", "1400k"] {
            let (status, output, errors) = try await script(
                "16m",
                """
                $CARREL init --home $DISK/home >/dev/null || exit 98
                mount -o remount,size=\(room) $DISK
                $CARREL ingest "\(path)" --home $DISK/home --json >/dev/null; first=$?
                find $DISK/home/blobs $DISK/home/scratch -type f ! -name installation 2>/dev/null | wc -l
                mount -o remount,size=16m $DISK
                $CARREL ingest "\(path)" --home $DISK/home --json >/dev/null || exit 97
                find $DISK/home/blobs -type f ! -name installation | wc -l
                exit $first
                """
            )
            let counts = output.split(separator: "\n").compactMap { Int($0) }
            #expect(counts.last == 2, "the sound and its sample are there in the end: \(errors)")
            guard status != .exited(0) else { continue }
            refusals += 1
            #expect(status == .exited(73), "\(room): \(errors)")
            #expect(counts.first == 0, "\(room): nothing is left behind")
            #expect(errors.contains("the disk of \(directory.file("disk"))/home is full"), "\(errors)")
            // the database or the sound is what has no room
            let hints = ["make room there", "free disk space there"].map { "\"hint\":\"\($0)" }
            #expect(hints.contains { errors.contains($0) }, "\(errors)")
        }
        #expect(refusals >= 3)
    }

    @Test func `that has no room for a home says so, and a home can be made there later`() async throws {
        let (status, _, errors) = try await script(
            "60k",
            """
            $CARREL init --home $DISK/home; first=$?
            mount -o remount,size=16m $DISK
            $CARREL init --home $DISK/home >/dev/null || exit 97
            exit $first
            """
        )
        #expect(status == .exited(73), "\(errors)")
        #expect(errors.contains("the disk of \(directory.file("disk"))/home is full"))
    }

    @Test func `that is full refuses an order, and takes it once there is room`() async throws {
        let path = try await makeSound("tone.mp3", seconds: 5, ["-c:a", "libmp3lame"])
        let (status, _, errors) = try await script(
            "16m",
            """
            $CARREL ingest "\(path)" --home $DISK/home --isbn 9780306406157 >/dev/null || exit 98
            head -c 100m /dev/zero > $DISK/filler 2>/dev/null
            $CARREL order create --home $DISK/home --isbn 9780306406157 --account alice; first=$?
            rm $DISK/filler
            $CARREL order create --home $DISK/home --isbn 9780306406157 --account alice >/dev/null || exit 97
            exit $first
            """
        )
        #expect(status == .exited(73), "\(errors)")
        #expect(errors.contains("is full"), "\(errors)")
    }

    /// The disk is full while the body is still coming, and while the sound is taken in.
    @Test(arguments: ["100k", "1250k"])
    func `that becomes full during an upload is told to the client, and keeps nothing of it`(room: String) async throws {
        let path = try await makeSound("tone.mp3", seconds: 120, ["-c:a", "libmp3lame", "-b:a", "64k"])
        let (status, output, errors) = try await script(
            "16m",
            """
            $CARREL serve --home $DISK/home --port 0 >$DISK/listening 2>$DISK/told & server=$!
            for i in $(seq 100); do grep -q listening $DISK/listening && break; sleep 0.1; done
            url=$(sed -n 's/listening on //p' $DISK/listening)
            key=$($CARREL key create --role admin --home $DISK/home 2>/dev/null)
            upload() {
              curl -s -X POST -H "Authorization: Bearer $key" -H 'Content-Type: audio/mpeg' \
                --data-binary "@\(path)" -w ' %{http_code}\\n' "$url/admin/v1/titles?title=x"
            }
            used=$(($(du -sk $DISK | cut -f1) + ${ROOM%k}))
            mount -o remount,size=${used}k $DISK
            upload
            find $DISK/home/blobs $DISK/home/scratch -type f ! -name installation 2>/dev/null | wc -l
            mount -o remount,size=16m $DISK
            upload | tail -c 4
            find $DISK/home/scratch -type f ! -name installation 2>/dev/null | wc -l
            kill $server; wait $server
            """.replacing("${ROOM%k}", with: String(room.dropLast()))
        )
        #expect(status == .exited(0), "\(errors)")
        let lines = output.split(separator: "\n").map(String.init)
        #expect(lines.dropFirst() == [" 507", "0", "201", "0"], "\(output)")
        #expect(lines.first?.contains("ingest.full") == true, "\(output)")
        #expect(lines.first?.contains(directory.path) == false, "where the home is, is not the client's business")
    }

    @Test func `reports that it takes no writes, for a new home and for an existing one`() async throws {
        let (status, _, errors) = try await script(
            "16m",
            """
            $CARREL init --home $DISK/home >/dev/null || exit 98
            mount -o remount,ro $DISK
            $CARREL title list --home $DISK/home; first=$?
            $CARREL init --home $DISK/other; second=$?
            [ $first = $second ] || exit 96
            exit $first
            """
        )
        #expect(status == .exited(73), "\(errors)")
        #expect(errors.contains("cannot use the folder \(directory.file("disk"))/home: read-only file system"))
        #expect(errors.contains("cannot create the folder \(directory.file("disk"))/other: read-only file system"))
    }
}

enum Mounts {
    /// Whether the system lets a test mount anything.
    static func areAllowed() async -> Bool {
        let directory = TemporaryDirectory()
        let probe = try? await runProcess(["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", directory.path])
        return probe?.status.isSuccess ?? false
    }
}
