// SPDX-License-Identifier: Apache-2.0

/// A fetcher that changes another fetcher's resources: it decrypts them, or adds a license.
protocol WrappingFetcher: Fetcher {
    /// The current child below it.
    var wrapped: any Fetcher { get }
}
