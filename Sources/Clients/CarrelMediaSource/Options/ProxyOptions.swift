// SPDX-License-Identifier: Apache-2.0

/// Settings that all sessions of a proxy share.
public struct ProxyOptions: Sendable {
    /// The form of segments.
    public enum Output: Sendable, Hashable {
        /// MPEG-2 transport streams.
        case transportStream
        /// Fragmented MP4 as the source has it, in the clear.
        case fragments
    }

    /// The rules that playlists follow.
    public enum Rules: Sendable, Hashable {
        /// Compatibility with players of older apps: whole-second durations, `PROGRAM-ID`, `EXT-X-ENDLIST` in the top playlist too.
        case compatible
        /// RFC 8216.
        case rfc

        /// The earlier name of ``compatible``.
        @available(*, deprecated, renamed: "compatible")
        public static var seed: Rules { .compatible }
    }

    /// Which sources are taken.
    public enum Policy: Sendable, Hashable {
        /// The sources of the compatible system and nothing more.
        case compatible
        /// Every protection that Carrel opens, and clear DASH.
        case usual
        /// Clear content too.
        case open

        /// The earlier name of ``compatible``.
        @available(*, deprecated, renamed: "compatible")
        public static var seed: Policy { .compatible }
    }

    /// The permitted clients.
    public enum Clients: Sendable, Hashable {
        /// Processes of the user that this process runs as.
        case user
        /// Only this process and the processes that it started.
        case ownProcesses
    }

    /// Whether a request waits for a license that is not there yet.
    public enum LicenseWait: Sendable, Hashable {
        /// It fails with `proxy.pending-key`.
        case never
        /// Until the source of keys has it, for a minute at most.
        case implicitly
        /// Until `PlaylistProxy.unblock(_:_:)`, for ten minutes at most.
        case untilUnblocked
    }

    /// The form of segments.
    public var output = Output.transportStream
    /// Whether segments are fragmented MP4 if transport streams cannot carry the codecs of a source; otherwise it is refused.
    public var allowsFragments = false
    /// The rules that playlists follow.
    public var rules = Rules.compatible
    /// Which sources are taken.
    public var policy = Policy.usual
    /// The permitted clients.
    public var clients = Clients.user
    /// Whether clients put the token in `Authorization: Bearer` instead of the address.
    public var hasTokenInHeader = false
    /// Whether addresses name their source in the query field `source`.
    public var usesLongURLs = false
    /// Whether audio is served as a separate rendition.
    public var demuxesAudio = false
    /// Whether segments are encrypted with AES-128 under a session key.
    public var encryptsOutput = false
    /// Whether a new address ends the session before it.
    public var isSingleSession = false
    /// Whether a request waits for a license that is not there yet.
    public var licenseWait = LicenseWait.never
    /// Whether plain http beyond this machine is allowed, for sources whose parameters do not set it.
    public var allowsPlainHTTP = false
    /// Whether manifests, playlists, key lines and redirects may lead into private networks.
    public var allowsPrivateNetworks = false
    /// Connections of players at a time.
    public var connectionLimit = 512
    /// Sessions at a time.
    public var sessionLimit = 256
    /// Requests of one session at a time; more get status 503.
    public var requestLimit = 32
    /// Bounds that tests make small.
    package var limits = ProxyLimits()

    /// The defaults.
    public init() {}
}
