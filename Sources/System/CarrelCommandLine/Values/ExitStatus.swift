// SPDX-License-Identifier: Apache-2.0

/// The exit status of a program, with the numbers of `sysexits.h`.
package struct ExitStatus: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let success = ExitStatus(rawValue: 0)
    /// A failure of no particular kind.
    package static let failure = ExitStatus(rawValue: 1)
    /// The command line was wrong.
    package static let usage = ExitStatus(rawValue: 64)
    /// The input is malformed.
    package static let badInput = ExitStatus(rawValue: 65)
    /// The input does not exist.
    package static let noInput = ExitStatus(rawValue: 66)
    /// Something needed, such as a server or a program, is not there.
    package static let unavailable = ExitStatus(rawValue: 69)
    /// A result could not be written.
    package static let cannotCreate = ExitStatus(rawValue: 73)
    /// Reading or writing failed.
    package static let inputOutput = ExitStatus(rawValue: 74)
    /// It may succeed later.
    package static let tryAgain = ExitStatus(rawValue: 75)
    /// The rights for it are missing.
    package static let noPermission = ExitStatus(rawValue: 77)
    /// The settings are wrong.
    package static let badSettings = ExitStatus(rawValue: 78)
    /// The license of saved media has ended.
    package static let licenseExpired = ExitStatus(rawValue: 80)
    /// The clock of the machine was set back, so that terms cannot be checked.
    package static let clockSetBack = ExitStatus(rawValue: 81)
    /// The vault with the keys is locked.
    package static let vaultLocked = ExitStatus(rawValue: 82)
    /// A segment of saved media is not there.
    package static let savedMissing = ExitStatus(rawValue: 83)
    /// A file of saved media was changed.
    package static let savedDamaged = ExitStatus(rawValue: 84)
    /// Interrupted from the keyboard: 128 + SIGINT.
    package static let interrupted = ExitStatus(rawValue: 130)
    /// The reader of the results stopped reading: 128 + SIGPIPE.
    package static let outputClosed = ExitStatus(rawValue: 141)

    /// All statuses with their meanings, in order, for the manual page.
    static let all: [(ExitStatus, String)] = [
        (.success, "Done."), (.failure, "It failed; standard error says why."), (.usage, "The command line was wrong."),
        (.badInput, "What was to be read is not what it should be."), (.noInput, "What was to be read is not there."),
        (.unavailable, "Something needed, such as a server or a program, is not there."),
        (.cannotCreate, "A result could not be written."), (.inputOutput, "Reading or writing failed."),
        (.tryAgain, "It may succeed later."), (.noPermission, "The rights for it are missing."),
        (.badSettings, "The settings are wrong."),
        (.licenseExpired, "The license of a download has ended."), (.clockSetBack, "The clock was set back."),
        (.vaultLocked, "The vault with the keys is locked."), (.savedMissing, "A segment of a download is not there."),
        (.savedDamaged, "A file of a download was changed."), (.interrupted, "It was interrupted from the keyboard."),
        (.outputClosed, "The reader of the results stopped reading."),
    ]
}
