import CarrelMediaPackaging
import CarrelMedia
import CarrelProxy
import Testing

struct `An HLS source with sync pictures` {
    @Test(arguments: `A playlist of sync pictures`.outputs, [CommonEncryptionScheme.cbcs, .cenc])
    func `keeps its playlists of sync pictures, decrypted`(output: PlaylistProxy.Output, scheme: CommonEncryptionScheme)
        async throws
    {
        let package = try await ProtectedPackage { $0.scheme = scheme }
        let run = try `A playlist of sync pictures`.run(output)
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
        let address = try #require(try await PictureList.addresses(of: session).first)
        let count = try await PictureList(address).entries.count
        #expect(count > 1)
        try await `A playlist of sync pictures`.expectPictures(session, output, count: count)
        #expect(run.codes == [])
        await run.proxy.stop()
    }
}
