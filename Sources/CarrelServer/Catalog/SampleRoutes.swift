import CarrelAudio
import CarrelIngest
import CarrelHTTP
import CarrelJSON

/// Short free samples by ISBN: the MP3 itself, and how long it plays.
struct SampleRoutes {
    let titles: Titles

    func add(to router: inout Router) {
        router.on(.get, "Sample.ashx") { request, _ in
            guard let isbn = request.query["isbn"] else { throw ServerError(.invalid, "isbn is missing") }
            let title = try await titles.find(isbn: isbn)
            guard let sample = title.sample else { throw Self.none }
            return try await titles.blobResponse(
                sample.blob,
                mediaType: "audio/mpeg",
                request: request,
                cacheControl: "public, max-age=3600"
            )
        }
        router.on(.get, "v1/samples/{isbn}") { request, parameters in
            let title = try await titles.find(isbn: parameters["isbn"])
            guard let sample = title.sample, let isbn = title.metadata.isbn else { throw Self.none }
            return .json([
                "isbn": .string(isbn.description), "title": .string(title.metadata.title),
                "duration": .seconds(milliseconds: sample.durationMS), "url": .string("/Sample.ashx?isbn=\(isbn)"),
            ])
        }
    }

    private static let none = ServerError(.notFound, "this title has no sample")
}
