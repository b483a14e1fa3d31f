// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelDCF
import CarrelJSON
import CarrelMP4

/// The contents of an OMA DCF as JSON.
enum DCFInspection {
    static func describe(_ reader: any ByteReader, _ file: MediaFile) throws -> JSON {
        let tree = try BoxTree.read(reader)
        return [
            "kind": "dcf", "size": .integer(reader.length),
            "objects": .array(file.objects.map { describe($0) }),
            "embeddedRights": .bool(try DCFFile(reader).mutableInformation != nil),
            "protection": ProtectionFacts(file).json,
            "boxes": .array(tree.boxes.map { MP4Inspection.describe($0) }),
        ]
    }

    private static func describe(_ object: DCFObject) -> JSON {
        let cipher =
            switch object.headers.cipher {
            case .none: "none"
            case .cbc: "AES-128-CBC"
            case .counter: "AES-128-CTR"
            }
        var facts: [(String, JSON)] = [
            ("contentType", .string(object.contentType)), ("contentId", .string(object.headers.contentID)),
            ("cipher", .string(cipher)), ("length", .integer(object.headers.clearLength)),
        ]
        if !object.headers.rightsIssuer.isEmpty { facts.append(("rightsIssuer", .string(object.headers.rightsIssuer))) }
        if let group = object.headers.groupKey { facts.append(("groupId", .string(group.groupID))) }
        let headers = object.headers.textual.map { JSON.string("\($0.name): \($0.value)") }
        if !headers.isEmpty { facts.append(("headers", .array(headers))) }
        return .object(JSONObject(facts))
    }
}
