// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelHTTPClient
import CarrelLicenseKeys
import CarrelMedia
import CarrelMediaPlanning
import CarrelMediaSource
import CarrelReader

/// The source of an item, as its transfers use it.
struct ItemSource: Sendable {
    let origin: MediaOrigin
    private let client: HTTPClient
    private let selection: MediaSelection
    /// Servers that the caller named.
    private let named: [String]
    private let addresses: AddressRule

    /// - Throws: `download.address`, `download.source`, `download.unavailable`.
    init(_ content: JournalSeal.Content, _ client: HTTPClient) throws(DownloadError) {
        self.client = client
        selection = MediaSelection(content.selection)
        var permissions = MediaOrigin.Permissions()
        permissions.plainHTTP = content.source.allowsPlainHTTP
        permissions.privateNetworks = content.source.allowsPrivateNetworks
        let source = content.source
        named = [source.licenseServer, source.certificateURL, source.clearKeyServer].filter { !$0.isEmpty }
        addresses = source.allowsPrivateNetworks ? .any : .publicExcept(originsOf: named)
        do throws(ProxyError) {
            origin = try MediaOrigin(
                source.address,
                others: named,
                client: client,
                fields: source.originFields,
                permissions
            )
        } catch {
            throw DownloadError(error)
        }
    }

    /// The source as errors show it: without its query.
    var name: String { origin.isRemote ? Trace.Value.url(origin.address).description : MediaOrigin.shown(origin.address) }

    /// Plans the source: loads its playlists.
    ///
    /// - Throws: ``ProxyError``.
    func plan() async throws -> MediaPlan { try await MediaPlanner(origin, .singleFile).plan(selection) }

    /// Plans the source, again after failures that are transient.
    ///
    /// - Throws: ``DownloadError``, `CancellationError`.
    func planWithRetries(_ pace: TransferPace) async throws -> MediaPlan {
        var backoff = Backoff(pace)
        while true {
            do { return try await plan() } catch {
                if Task.isCancelled { throw CancellationError() }
                let failure = TransferFailure(error)
                guard case .transient(let transient) = failure, let pause = backoff.next(atLeast: transient.pause) else {
                    throw failure.error
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    /// The client for key servers: under the rules of the source.
    var keyClient: any MediaHTTPClient {
        origin.isRemote ? KeyServerRequests(origin: origin) : LocalKeyRequests(client: client, addresses: addresses)
    }
}

/// Requests to key servers that a playlist on this machine names: public ones, unless the caller named them.
private struct LocalKeyRequests: MediaHTTPClient {
    let client: HTTPClient
    let addresses: AddressRule

    func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        try await send(ClientRequest(url), fields, limit)
    }

    func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        try await send(ClientRequest(.post, url, body: .bytes(body)), fields, limit)
    }

    private func send(_ request: ClientRequest, _ fields: [MediaHTTPField], _ limit: Int) async throws -> MediaHTTPResponse {
        try HTTPMediaClient.check(request.url)
        var request = request
        for field in fields { request.headers.append(field.name, field.value) }
        request.addresses = addresses
        request.maxResponseBytes = Int64(limit)
        let response = try await client.send(request)
        return MediaHTTPResponse(
            status: response.status.rawValue,
            fields: response.headers.map { MediaHTTPField($0.name, $0.value) },
            body: response.body
        )
    }
}

/// Requests to key servers under the rules of a source: its addresses, its permissions, and its header fields for its own origin.
private struct KeyServerRequests: MediaHTTPClient {
    let origin: MediaOrigin

    func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        try await origin.fetch(url, fields: fields, limit: limit)
    }

    func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        try await origin.fetch(url, posting: body, fields: fields, limit: limit)
    }
}

extension MediaSelection {
    fileprivate init(_ selection: DownloadSelection) {
        self.init()
        bitrate = selection.minimumBitrate
        audio = Languages(selection.audio)
        texts = Languages(selection.subtitles)
    }
}

extension MediaSelection.Languages {
    fileprivate init(_ languages: DownloadSelection.Languages) {
        self =
            switch languages {
            case .defaults: .defaults
            case .none: .none
            case .all: .all
            case .chosen(let languages): .chosen(languages)
            }
    }
}
