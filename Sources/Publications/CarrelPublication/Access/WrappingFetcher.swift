// SPDX-License-Identifier: Apache-2.0

/// A fetcher that changes what another one gives: decrypts it, or puts a license beside it.
protocol WrappingFetcher: Fetcher {
    /// The current child below it.
    var wrapped: any Fetcher { get }
}
