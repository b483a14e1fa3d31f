// SPDX-License-Identifier: Apache-2.0

extension Publication {
    /// A publication in the making, which protections and the reading app may still change.
    public struct Builder: Sendable {
        /// Changes a builder before the publication is made of it.
        public typealias Transform = @Sendable (inout Builder) -> Void

        /// The manifest of the publication.
        public var manifest: Manifest
        /// The format of the asset.
        public var format: Format
        /// Reads the resources.
        public var fetcher: any Fetcher
        /// The services of the publication.
        public var services: ServicesBuilder

        /// Creates a builder.
        ///
        /// - Parameters:
        ///   - manifest: the manifest of the publication.
        ///   - format: the format of the asset.
        ///   - fetcher: reads the resources.
        ///   - services: by default positions and a cover.
        public init(manifest: Manifest, format: Format, fetcher: any Fetcher, services: ServicesBuilder = ServicesBuilder()) {
            self.manifest = manifest
            self.format = format
            self.fetcher = fetcher
            self.services = services
        }

        /// The publication.
        public func build() -> Publication { Publication(self) }
    }

    /// The services of a publication, one of each kind.
    public struct ServicesBuilder: Sendable {
        private var entries: [(kind: ObjectIdentifier, make: PublicationServiceFactory)] = []

        /// Creates a builder with positions and a cover, if the publication has them.
        public init() {
            set((any PositionsService).self) { CountedPositions($0) }
            set((any CoverService).self) { DefaultCoverService($0) }
        }

        /// Puts a service in place of the one of its kind, or removes that.
        ///
        /// - Parameters:
        ///   - kind: the protocol by which it is found, such as `ContentProtectionService.self`.
        ///   - make: makes the service; nil for none.
        public mutating func set<Kind>(_ kind: Kind.Type, _ make: PublicationServiceFactory?) {
            let id = ObjectIdentifier(kind)
            let place = entries.firstIndex { $0.kind == id }
            switch (place, make) {
            case (let place?, let make?): entries[place].make = make
            case (let place?, nil): entries.remove(at: place)
            case (nil, let make?): entries.append((id, make))
            case (nil, nil): break
            }
        }

        /// Wraps the service of a kind, if there is one.
        ///
        /// - Parameters:
        ///   - kind: the kind, as for `set(_:_:)`.
        ///   - transform: receives the current service, or nil if there is none.
        public mutating func decorate<Kind>(
            _ kind: Kind.Type,
            _ transform: @escaping @Sendable ((any PublicationService)?, PublicationServiceContext) -> (any PublicationService)?
        ) {
            let id = ObjectIdentifier(kind)
            let make = entries.first { $0.kind == id }?.make
            set(kind) { context in transform(make?(context), context) }
        }

        func make(_ context: PublicationServiceContext) -> [any PublicationService] {
            entries.compactMap { $0.make(context) }
        }
    }
}
