// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCommandLine
import CarrelIngest
import CarrelServer

/// Parameters of an ingest that makes an edition.
struct EditionParameters: ParameterGroup, Sendable {
    var productID: String?
    var price: Edition.Price?
    var licensed: Edition.Licensed?
    var draft = false
    var issued: Instant?
    var published: Instant?
    var samples: [String] = []

    static var parameters: [Parameter<EditionParameters>] {
        [
            .option(\.productID, "--product-id", value: "id", help: "The product id that apps and plans use.", group: "Edition"),
            .option(\.price, "--price", help: "free for all readers, or paid for entitled ones.", group: "Edition"),
            .option(
                \.licensed,
                "--licensed",
                help: "Publish it as a protected file (DCF) for license holders: off, also, or only, without the clear file.",
                group: "Edition"
            ),
            .flag(\.draft, "--draft", help: "Keep it out of feeds until 'edition publish'.", group: "Edition"),
            .option(\.issued, "--issued", help: "When the issue came out; default: now.", group: "Edition"),
            .option(\.published, "--published", help: "When it was first published; default: now.", group: "Edition"),
            .option(
                \.samples,
                "--sample",
                value: "pattern",
                help: "Pattern of free resources, such as 'sample/**' or 'cover.*'.",
                group: "Edition"
            ),
        ]
    }

    func validate() throws(UsageError) {
        guard let productID else {
            guard price == nil, licensed == nil, !draft, issued == nil, published == nil, samples.isEmpty else {
                throw UsageError(
                    .contradiction,
                    "--price, --licensed, --draft, --issued, --published and --sample need --product-id"
                )
            }
            return
        }
        if let fault = EditionOptions.fault(inProductID: productID) { throw UsageError(.badValue, fault) }
    }

    /// The terms of the edition; nil unless a product ID makes it one.
    var terms: Edition.Terms? {
        guard let productID else { return nil }
        var made = Edition.Terms(productID: productID)
        made.price = price
        made.licensed = licensed
        made.isDraft = draft
        made.issuedAt = issued
        made.publishedAt = published
        return made
    }
}

extension Edition.Price: TextValue {}

extension Edition.Licensed: TextValue {}
