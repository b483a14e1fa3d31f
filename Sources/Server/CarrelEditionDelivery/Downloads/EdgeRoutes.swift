// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelStore
import CarrelWebAPI

/// `/edge/v1/authorize`: whether an edge cache may serve a cached file (docs/edge-nginx.md).
///
/// The response reveals no more than a download would, so it needs no authentication. The product is taken from the address that
/// the edge received, parsed as strictly as a request's own.
struct EdgeRoutes {
    let downloads: EditionDownloads
    let gate: EditionAuthorizer
    let routes: DownloadRoutes

    func add(to router: inout Router) {
        router.on(.get, "edge/v1/authorize") { request, _ in
            guard let target = request.headers["X-Original-URI"], request.headers.values("X-Original-URI").count == 1,
                let (productID, path, style) = place(target)
            else { return Self.answer(HTTPResponse(.forbidden)) }
            return Self.answer(try await authorize(request, productID, path, style))
        }
    }

    /// The resource of a target; nil for a target that is not an edition's address.
    private func place(_ target: String) -> (productID: String, path: String?, style: RefusalStyle)? {
        guard let path = try? RequestPath(parsing: String(target.prefix { $0 != "?" })) else { return nil }
        let families = [
            (["editions"], routes.settings.refusal), (["opds", "v2", "editions"], routes.settings.opdsRefusal),
        ]
        for (family, style) in families where path.segments.starts(with: family) && path.segments.count > family.count {
            let rest = path.segments.dropFirst(family.count + 1)
            return (path.segments[family.count], rest.isEmpty ? nil : rest.joined(separator: "/"), style)
        }
        return nil
    }

    private func authorize(
        _ request: HTTPRequest,
        _ productID: String,
        _ path: String?,
        _ style: RefusalStyle
    ) async throws -> HTTPResponse {
        guard let found = try await downloads.find(productID, path) else { return HTTPResponse(.forbidden) }
        var response = HTTPResponse(.noContent)
        switch found.access {
        case .missing, .gone, .protected: return HTTPResponse(.forbidden)
        case .open: break
        case .credentials:
            guard try await gate.refusal(of: request, to: productID, style) == nil else {
                return routes.refusal(request, productID, style)
            }
            routes.say(productID, in: &response)
        }
        response.headers["X-Carrel-Version"] = "\(found.edition.mediaBlob.prefix(16))-\(found.edition.updatedAt.milliseconds)"
        return response
    }

    private static func answer(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers["Cache-Control"] = "no-store"
        return response
    }
}
