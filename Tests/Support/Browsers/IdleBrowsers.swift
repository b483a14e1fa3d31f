// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// Browsers that a test closed, for the next that wants one with the same options: a start takes seconds. At most one of each
/// kind.
enum IdleBrowsers {
    private struct Idle {
        let driver: any BrowserDriver
        let options: BrowserOptions
    }

    private static let idle = Locked<[BrowserKind: Idle]>([:])
    private static let cleanup: Void = { _ = atexit { IdleBrowsers.idle.withLock { $0 = [:] } } }()

    /// Keeps a browser, and ends the one that was kept before. One that cannot leave its page ends too.
    static func keep(_ driver: any BrowserDriver, _ kind: BrowserKind, _ options: BrowserOptions) async {
        do {
            try await driver.leavePage()
        } catch {
            return await driver.quit()
        }
        cleanup
        let former = idle.withLock { $0.updateValue(Idle(driver: driver, options: options), forKey: kind) }
        await former?.driver.quit()
    }

    /// Takes the kept browser of a kind. One that runs with other options, or cannot be cleared, ends.
    ///
    /// - Returns: the browser, as after a start; nil if none is left.
    static func take(_ kind: BrowserKind, _ options: BrowserOptions) async -> (any BrowserDriver)? {
        guard let kept = idle.withLock({ $0.removeValue(forKey: kind) }) else { return nil }
        do {
            guard kept.options.startsLike(options, kind) else { throw BrowserError("session not created", "other options") }
            try await kept.driver.clearData(options)
            return kept.driver
        } catch {
            await kept.driver.quit()
            return nil
        }
    }
}
