package import CarrelJSON

extension Console {
    /// Prints a value as JSON: laid out for a person at a terminal, on one line elsewhere.
    package func print(_ value: JSON) {
        print(String(decoding: output.isInteractive ? value.writePretty() : value.write(), as: UTF8.self))
    }
}
