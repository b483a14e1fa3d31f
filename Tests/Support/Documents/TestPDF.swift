/// A PDF document that a test writes object by object.
public struct TestPDF {
    /// What stands between `obj` and `endobj`; the first has number 1.
    public var objects: [String]
    /// Further entries of the trailer, such as `/Info 3 0 R`.
    public var trailer = ""

    /// - Parameter objects: the first is the catalog.
    public init(_ objects: [String]) {
        self.objects = objects
    }

    /// A document of empty pages.
    ///
    /// - Parameters:
    ///   - pages: at least one. They are objects 3 and following; the page tree is object 2.
    ///   - catalog: further entries of the catalog.
    ///   - others: objects behind the pages.
    public init(pages: Int, catalog: String = "", others: [String] = []) {
        let kids = (0..<pages).map { "\($0 + 3) 0 R" }.joined(separator: " ")
        objects = ["<< /Type /Catalog /Pages 2 0 R \(catalog) >>", "<< /Type /Pages /Count \(pages) /Kids [\(kids)] >>"]
        objects += (0..<pages).map { _ in "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 300] /Resources << >> >>" }
        objects += others
    }

    /// The file.
    public var bytes: [UInt8] {
        var text = "%PDF-1.7\n"
        var places: [Int] = []
        for (index, object) in objects.enumerated() {
            places.append(text.utf8.count)
            text += "\(index + 1) 0 obj\n\(object)\nendobj\n"
        }
        let start = text.utf8.count
        text += "xref\n0 \(objects.count + 1)\n0000000000 65535 f \n"
        for place in places { text += "\(String(10_000_000_000 + place).dropFirst()) 00000 n \n" }
        text += "trailer\n<< /Size \(objects.count + 1) /Root 1 0 R \(trailer) >>\nstartxref\n\(start)\n%%EOF\n"
        return Array(text.utf8)
    }
}
