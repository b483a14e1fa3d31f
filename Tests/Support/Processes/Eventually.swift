// SPDX-License-Identifier: Apache-2.0

package import Testing

/// Waits up to a minute for what another thread is about to bring about, and records an issue when it does not.
package func eventually(_ holds: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !holds() {
        guard ContinuousClock.now < deadline else {
            Issue.record("it did not come about within a minute", sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}
