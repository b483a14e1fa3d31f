// SPDX-License-Identifier: Apache-2.0

import Testing
import Glibc

/// The JSON schemas of Readium's manifests and of LCP's documents (fixtures, `schema/`), checked by Debian's
/// `python3-jsonschema`.
///
/// Only time formats are checked: identifiers may be any text.
package enum JSONSchemas {
    /// All of them, as files below `readium/`. Each is read whenever one is asked, because they refer to each other.
    package static let names: Set<String> = Set(
        ["license", "lcpdf", "link", "status"].map { "schema/lcp/\($0).schema.json" }
            + [
                "a11y", "altIdentifier", "article", "chapter", "collection", "contributor", "episode",
                "extensions/encryption/properties", "extensions/epub/metadata", "extensions/epub/properties",
                "extensions/epub/subcollections", "issue", "language-map", "link", "metadata", "periodical", "publication",
                "season",
                "series", "storyArc", "subcollection", "subject", "volume",
            ].map { "schema/webpub/\($0).schema.json" }
    )

    /// Finds the faults of documents.
    ///
    /// - Parameters:
    ///   - documents: JSON, by name.
    ///   - schema: one of ``names``.
    ///   - directory: the test's folder.
    /// - Returns: by name of the faulty documents, each fault as its place (RFC 6901) and the rule; never the value, because
    ///   licenses have names of people.
    /// - Throws: an error that skips the test without the fixtures or the validator; an error for a broken or missing schema.
    package static func faults(
        of documents: [String: [UInt8]],
        by schema: String,
        in directory: TemporaryDirectory
    ) async throws -> [String: [String]] {
        let python = try await validator()
        var names: [String: String] = [:]
        for (number, document) in documents.sorted(by: { $0.key < $1.key }).enumerated() {
            names[directory.write("document-\(number).json", document.value)] = document.key
        }
        let folder = try Fixtures.path("readium/schema")
        let wanted = String(schema.dropFirst("schema/".count))
        let command = [python, "-W", "ignore", "-", folder, String(Self.names.count), wanted] + names.keys.sorted()
        let lines = try await checkProcess(command, input: Array(program.utf8), timeout: .seconds(120)).split(separator: "\n")
        var faults: [String: [String]] = [:]
        for line in lines {
            let parts = line.split(separator: "\t", maxSplits: 1).map(String.init)
            faults[names[parts[0]] ?? parts[0], default: []].append(parts[parts.count - 1])
        }
        return faults
    }

    /// A Python that has the validator: the one on the PATH may be another than Debian's.
    private static func validator() async throws -> String {
        for python in Set([try requirePeer("python3"), "/usr/bin/python3"]).sorted() where unsafe access(python, X_OK) == 0 {
            if try await runProcess([python, "-c", "import jsonschema"]).status.isSuccess { return python }
        }
        try Test.cancel("python3-jsonschema is not installed: nothing to ask")
    }

    private static let program = #"""
        import glob, json, re, sys
        from urllib.parse import urljoin
        from jsonschema import Draft7Validator, FormatChecker, RefResolver

        folder, count, wanted, documents = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
        def settle(schema, base):
            """Writes references as addresses: versions of the validator differ in what they are relative to."""
            if isinstance(schema, dict):
                if isinstance(schema.get("$ref"), str): schema["$ref"] = urljoin(base, schema["$ref"])
                for value in schema.values(): settle(value, base)
            elif isinstance(schema, list):
                for value in schema: settle(value, base)

        # of the schema of OPDS, which is not among the fixtures, nothing is asked
        schemas = {"https://drafts.opds.io/schema/properties.schema.json": {}}
        for path in glob.glob(folder + "/**/*.schema.json", recursive=True):
            # groups have their names in another way in Python
            schema = json.loads(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", open(path, encoding="utf-8").read()))
            Draft7Validator.check_schema(schema)
            settle(schema, schema["$id"])
            schemas[schema["$id"]] = schema
            if path == folder + "/" + wanted: start = schema
        assert len(schemas) == count + 1, "there are %d schemas" % (len(schemas) - 1)

        class Offline(RefResolver):
            def resolve_remote(self, address): raise LookupError("there is no schema " + address)

        formats = FormatChecker(formats=())
        @formats.checks("date-time")
        def is_time(text):
            return not isinstance(text, str) or re.fullmatch(
                r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", text) is not None

        validator = Draft7Validator(start, resolver=Offline(start["$id"], start, schemas), format_checker=formats)
        for document in documents:
            for error in validator.iter_errors(json.load(open(document, encoding="utf-8"))):
                place = "".join("/" + str(part) for part in error.absolute_path)
                print("%s\t%s %s" % (document, place, error.validator))
        """#
}
