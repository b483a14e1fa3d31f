// SPDX-License-Identifier: Apache-2.0

public import CarrelMediaSource

/// The error of the proxy: a stable code, words for a person, and the next step.
public typealias ProxyError = CarrelMediaSource.ProxyError
/// Settings that all sessions of a proxy share.
public typealias ProxyOptions = CarrelMediaSource.ProxyOptions
/// The facts that a caller knows about a source, and its wishes.
public typealias MediaSourceParameters = CarrelMediaSource.MediaSourceParameters
/// The kind of a source.
public typealias MediaSourceType = CarrelMediaSource.MediaSourceType
/// The facts of a source that was probed.
public typealias SourceSummary = CarrelMediaSource.SourceSummary
