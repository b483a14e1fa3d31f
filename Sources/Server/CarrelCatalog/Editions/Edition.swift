// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHTTP
package import CarrelJSON
package import CarrelSubscription
import CarrelWebAPI
import CarrelWorks

/// A title that is a product, with its names, price and state.
package struct Edition: Sendable {
    /// Whether reading requires an entitlement.
    package enum Price: String, Sendable, CaseIterable {
        /// Readable without an entitlement.
        case free
        /// Readable with an entitlement.
        case paid
    }

    package internal(set) var title: Title
    /// The product id that apps use; the edition's id in feeds.
    package let productID: String
    package internal(set) var price: Price
    package internal(set) var state: Product.State
    /// The issue date, which plans by issue use.
    package internal(set) var issuedAt: Instant
    /// When it was first published; nil for a draft.
    package internal(set) var publishedAt: Instant?
    package internal(set) var withdrawnAt: Instant?
    /// Time of the last change.
    package internal(set) var updatedAt: Instant
    /// Time of the last change of its content.
    package internal(set) var contentAt: Instant
    /// Bytes of its blob.
    package internal(set) var byteCount: Int64
    /// The path of the resource that it opens with.
    package let entry: String
    package let resourceCount: Int
    package internal(set) var sampleCount: Int
    /// The blob of its content.
    package let mediaBlob: String
    /// Whether and how it is published as a protected file.
    package internal(set) var protection: Protection

    /// The path of its address, with a slash at the end.
    package var path: String { "/editions/\(PercentEncoding.encode(productID))/" }

    /// The path of the protected file, below its own address.
    package static let licensedPath = "-/licensed.dcf"

    /// The address of the protected file, below its own address; nil if it is not published so.
    package var licensedFile: (address: String, type: String)? {
        protection.licensed == .off ? nil : (Self.licensedPath, "application/vnd.oma.drm.dcf")
    }

    /// The address of the whole edition for download, below its own address: the protected file if only that is published.
    package var file: (address: String, type: String) {
        protection.licensed == .only ? licensedFile ?? clearFile : clearFile
    }

    /// The address of the clear file.
    package var clearFile: (address: String, type: String) {
        switch title.kind {
        case .edition: ("-/package.zip", "application/zip")
        case .pdf: (entry.asAddress, "application/pdf")
        case .ebook, .audiobook: (entry.asAddress, "application/epub+zip")
        }
    }

    /// The address of the page to open in a browser, below its own address.
    package var reading: (address: String, type: String) {
        title.kind == .edition ? ("", "text/html") : file
    }

    /// The form in which the API and the command line show it.
    package var json: JSONObject {
        var object = title.json
        object["duration"] = nil
        object["sampleDuration"] = nil
        object["edition"] = [
            "productId": .string(productID), "price": .string(price.rawValue), "state": .string(state.rawValue),
            "issuedAt": .string(issuedAt.description), "publishedAt": .init(publishedAt), "withdrawnAt": .init(withdrawnAt),
            "updatedAt": .string(updatedAt.description), "bytes": .integer(byteCount), "entry": .string(entry),
            "resources": .integer(resourceCount), "samples": .integer(sampleCount), "path": .string(path),
            "licensed": .string(protection.licensed.rawValue), "keyNumber": .integer(Int64(protection.keyNumber)),
        ]
        return object
    }

    /// Price, state and dates of an edition.
    package struct Terms: Sendable {
        package let productID: String
        /// The price; nil keeps the current one, or means paid for a new product.
        package var price: Price?
        /// Whether it is published as a protected file; nil keeps the current choice, or means no for a new product.
        package var licensed: Licensed?
        package var isDraft = false
        /// The time of issue; nil keeps the current one, or means now.
        package var issuedAt: Instant?
        package var publishedAt: Instant?

        package init(productID: String) {
            self.productID = productID
        }
    }
}
