// SPDX-License-Identifier: Apache-2.0

// Licenses against C loops over the same OpenSSL and SQLite, alternating in one run: the messages in memory, a device's store, and what a
// server over HTTP needs. Prints medians of the ratios of speed with the least and the greatest: 1.00 is the speed of C. `run` calls it.

import Glibc

let arguments = Array(CommandLine.arguments.dropFirst())
switch (arguments.first, arguments.count) {
case ("messages", 1): try await measureMessages()
case ("device", 2): try await Device(folder: arguments[1]).measure()
case ("cpix", 3):
    guard let certificate = bytes(at: arguments[1]), let key = bytes(at: arguments[2]) else { exit(66) }
    try await measureDocuments(certificate: certificate, key: key)
case ("find", 2): try await Device(folder: arguments[1]).find()
case ("prepare", 4...5):
    try await prepareRequests(
        home: arguments[1],
        file: arguments[2],
        count: Int(arguments[3]) ?? 0,
        database: arguments.count > 4 ? arguments[4] : nil
    )
case ("insert", 3): print(insertRate(arguments[1], seconds: Double(arguments[2]) ?? 0))
case ("issue", 2): try await printIssueRate(seconds: Double(arguments[1]) ?? 0)
default:
    print(
        "usage: RightsBench messages | cpix CERTIFICATE KEY | device FOLDER | find FOLDER | prepare HOME FILE COUNT [DATABASE] | insert FILE SECONDS | issue SECONDS"
    )
    exit(64)
}
