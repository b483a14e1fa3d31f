// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// Why a download was not added, failed, or could not be changed. Never contains a key, a token, or the query of an address.
public struct DownloadError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<DownloadError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String
    /// Whether the same transfer can succeed later without a change of its source.
    public let isRetryable: Bool
    /// The wait that the server demanded.
    package var pause: Duration?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a lower-case sentence without a period, without secrets.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
        isRetryable = Self.retryable.contains(code)
    }

    private static let retryable: Set<Code> = [
        .unavailable, .unauthorized, .diskFull, .disk, .quota, .vault, .key, .journal, .damaged, .busy,
    ]
}

extension ErrorCode where Failure == DownloadError {
    /// A parameter is wrong.
    public static var usage: Self { Self("download.usage") }
    /// There is no item of this id.
    public static var unknown: Self { Self("download.unknown") }
    /// The item's state does not allow the operation.
    public static var state: Self { Self("download.state") }
    /// The source is live, or became live.
    public static var live: Self { Self("download.live") }
    /// The source's license must not be stored, as for MS3 URLs.
    public static var notStorable: Self { Self("download.not-storable") }
    /// The source cannot be read, or has a form that cannot be saved.
    public static var source: Self { Self("download.source") }
    /// The source has no track that matches the selection.
    public static var selection: Self { Self("download.selection") }
    /// The source's playlist or manifest differs from the saved one.
    public static var changed: Self { Self("download.changed") }
    /// The server does not respond, or reports a failure of its own.
    public static var unavailable: Self { Self("download.unavailable") }
    /// The server requires other credentials, also after the playlist was loaded again.
    public static var unauthorized: Self { Self("download.unauthorized") }
    /// The server does not have the resource any more, also after the playlist was loaded again.
    public static var gone: Self { Self("download.gone") }
    /// An address may not be used.
    public static var address: Self { Self("download.address") }
    /// The disk is full, or the expected size does not fit.
    public static var diskFull: Self { Self("download.disk-full") }
    /// A file cannot be written or read.
    public static var disk: Self { Self("download.disk") }
    /// The item, or all items together, would exceed their quota.
    public static var quota: Self { Self("download.quota") }
    /// A saved file is not what was received.
    public static var damaged: Self { Self("download.damaged") }
    /// A content key was not obtained.
    public static var key: Self { Self("download.key") }
    /// The vault is locked, or does not open.
    public static var vault: Self { Self("download.vault") }
    /// The journal cannot be read or written.
    public static var journal: Self { Self("download.journal") }
    /// Too many items.
    public static var busy: Self { Self("download.busy") }
}
