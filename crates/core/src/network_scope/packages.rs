//! The hosts that the name `packages` stands for: the public registries that ordinary package managers use
//! by default. A registry that anyone may write to is also a place to send data to, so the set contains no
//! general hosting of files or repositories.

/// The hosts, over HTTPS only.
pub const PACKAGE_HOSTS: [&str; 22] = [
    // Rust.
    "crates.io",
    "index.crates.io",
    "static.crates.io",
    "static.rust-lang.org",
    // JavaScript.
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "nodejs.org",
    // Python.
    "pypi.org",
    "files.pythonhosted.org",
    // Go.
    "proxy.golang.org",
    "sum.golang.org",
    // Java.
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "plugins-artifacts.gradle.org",
    // Ruby, PHP, .NET, Elixir, Dart.
    "rubygems.org",
    "index.rubygems.org",
    "repo.packagist.org",
    "api.nuget.org",
    "repo.hex.pm",
    "builds.hex.pm",
    "pub.dev",
];

/// The port of all of them.
pub(super) const PACKAGES_PORT: u16 = 443;
