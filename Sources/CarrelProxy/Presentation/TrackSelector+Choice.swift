extension MediaSourceParameters.TrackSelector {
    /// The tracks that a caller selects.
    ///
    /// - Parameters:
    ///   - all: those of one kind.
    ///   - kind: the kind, as errors name it.
    ///   - names: the ids of a track.
    /// - Returns: the tracks, each with its place among all of the kind.
    /// - Throws: `proxy.usage` when there is no such track.
    func choose<Track>(
        of all: [Track],
        _ kind: String,
        names: (Track) -> [String?]
    ) throws(ProxyError) -> [(offset: Int, element: Track)] {
        let numbered = Array(all.enumerated())
        switch self {
        case .any: return numbered
        case .index(let index):
            guard all.indices.contains(index) else { throw ProxyError(.usage, "the source has no \(kind) track \(index)") }
            return [numbered[index]]
        case .id(let id):
            let named = numbered.filter { names($0.element).contains(id) }
            guard !named.isEmpty else { throw ProxyError(.usage, "the source has no \(kind) track '\(id)'") }
            return named
        }
    }
}
