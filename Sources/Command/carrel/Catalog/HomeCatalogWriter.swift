// SPDX-License-Identifier: Apache-2.0

import CarrelCatalog
import CarrelIngest
import CarrelJSON
import CarrelServer
import CarrelStore
import CarrelWorks

/// A writer of ingest results of this process into the catalog of its home, through its server if one runs.
struct HomeCatalogWriter<Made: Sendable>: CatalogWriter {
    private let catalog: HomeCatalog
    private let target: String
    private let contentType: String
    /// The product that an edition is entered as.
    private let product: String?
    private let question: @Sendable (_ sourceHash: [UInt8], _ cover: (blob: BlobID, mediaType: String)?) -> [UInt8]
    private let entry: @Sendable (Made) -> [UInt8]

    func again(_ sourceHash: [UInt8], cover: (blob: BlobID, mediaType: String)?) async throws -> Entered<JSON>? {
        let answer = try await call(question(sourceHash, cover))
        return answer["titles"]?.array?.first.map { Entered($0, .none, warnings: Self.warnings(answer)) }
    }

    func enter(_ made: Made) async throws -> Entered<JSON> {
        let answer = try await call(entry(made))
        let change: CatalogChange =
            answer["created"]?.bool == true ? .created : answer["replaced"]?.bool == true ? .replaced : .none
        return Entered(answer["titles"]?.array?.first ?? .null, change, warnings: Self.warnings(answer))
    }

    private static func warnings(_ answer: JSON) -> [String] { answer["warnings"]?.array?.compactMap(\.string) ?? [] }

    func discard(_ blobs: Set<BlobID>) async {
        let body: JSON = ["blobs": .array(blobs.map { .string($0.text) })]
        _ = try? await catalog.call("/admin/v1/accessions/take-back", body.write())
    }

    private func call(_ body: [UInt8]) async throws -> JSON {
        do {
            return try await catalog.call(target, contentType: contentType, body)
        } catch let problem as ServiceProblem where problem.status == 507 {
            throw IngestError(.full, target, problem.message)
        }
    }
}

extension HomeCatalogWriter<IngestedTitle> {
    init(_ catalog: HomeCatalog, _ options: IngestOptions) {
        self.catalog = catalog
        target = "/admin/v1/accessions/titles"
        contentType = "application/json"
        product = nil
        question = {
            TitleIngestRequest(sourceHash: $0, overrides: options.overrides, isStrict: options.isStrict, cover: $1).write()
        }
        entry = {
            TitleIngestRequest(
                sourceHash: $0.sourceHash,
                overrides: options.overrides,
                isStrict: options.isStrict,
                made: $0
            ).write()
        }
    }
}

extension HomeCatalogWriter<IngestedEdition> {
    init(_ catalog: HomeCatalog, _ options: EditionOptions, _ terms: Edition.Terms) {
        self.catalog = catalog
        target = "/admin/v1/accessions/editions"
        contentType = "application/x-ndjson"
        product = terms.productID
        question = { EditionIngestRequest(sourceHash: $0, terms: terms, options: options, cover: $1).write() }
        entry = { EditionIngestRequest(sourceHash: $0.sourceHash, terms: terms, options: options, made: $0).write() }
    }
}

extension HomeCatalogWriter: EditionCatalogRegister where Made == IngestedEdition {
    func pageHistory() async throws -> PageHistory {
        let body: JSON = ["productId": .string(product ?? "")]
        return try PageHistoryDocument.read(try await catalog.call("/admin/v1/accessions/pages", body.write()))
    }
}
