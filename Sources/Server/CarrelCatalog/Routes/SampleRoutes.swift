// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelIngest
import CarrelJSON
import CarrelWebAPI
import CarrelWorks

/// Short free samples by ISBN: the MP3 itself, and how long it plays.
struct SampleRoutes {
    let titles: Titles

    func add(to router: inout Router) {
        router.openToOtherOrigins(addSamples)
    }

    private func addSamples(to router: inout Router) {
        // Apps write the path and the parameter in either case.
        for path in ["Sample.ashx", "sample.ashx"] { router.on(.get, path) { request, _ in try await sample(request) } }
        router.on(.get, "v1/samples/{isbn}") { request, parameters in
            let title = try await titles.find(isbn: parameters["isbn"])
            guard let sample = title.sample, let isbn = title.metadata.isbn else { throw Self.none }
            return .json([
                "isbn": .string(isbn.description), "title": .string(title.metadata.title),
                "duration": .seconds(milliseconds: sample.durationMS), "url": .string("/Sample.ashx?isbn=\(isbn)"),
            ])
        }
    }

    private func sample(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let isbn = request.query.value(ignoringCaseOf: "isbn") else { throw ServerError(.invalid, "isbn is missing") }
        let title = try await titles.find(isbn: isbn)
        guard let sample = title.sample else { throw Self.none }
        return try await titles.blobResponse(
            sample.blob,
            mediaType: "audio/mpeg",
            request: request,
            cacheControl: "public, max-age=3600"
        )
    }

    private static let none = ServerError(.notFound, "this title has no sample")
}
