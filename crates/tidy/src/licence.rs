//! Checks the licences of dependencies.

use crate::metadata::Package;

/// Licences that allow use, modification and distribution of the program and require at most a notice or
/// (MPL) the source of their own files.
const PERMITTED: [&str; 17] = [
    "0BSD",
    "Apache-2.0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
    "blessing",
];

/// An exception only grants additional permissions.
const PERMITTED_EXCEPTIONS: [&str; 1] = ["LLVM-exception"];

/// Returns dependencies whose licence expression is not permitted.
pub fn refused(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages.iter().filter(|package| package.source.is_some()) {
        let (name, version) = (&package.name, &package.version);
        match &package.licence {
            Some(expression) if permitted(expression) => {}
            Some(expression) => found.push(format!("{name} {version}: `{expression}` is not permitted")),
            None => found.push(format!("{name} {version}: states no licence expression")),
        }
    }
    found
}

/// Returns whether an SPDX expression can be satisfied: one side of an OR, every side of an AND. An
/// unreadable expression is refused.
fn permitted(expression: &str) -> bool {
    // Before SPDX expressions, a slash meant OR; old packages still use it.
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let met = either(&mut words);
    met == Some(true) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>) -> Option<bool> {
    let mut met = both(words)?;
    while words.next_if_eq(&"OR").is_some() {
        met |= both(words)?;
    }
    Some(met)
}

fn both(words: &mut Words<'_>) -> Option<bool> {
    let mut met = one(words)?;
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words)?;
    }
    Some(met)
}

fn one(words: &mut Words<'_>) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let met = either(words)?;
        return words.next_if_eq(&")").map(|_| met);
    }
    let exception = match words.next_if_eq(&"WITH") {
        Some(_) => PERMITTED_EXCEPTIONS.contains(&words.next()?),
        None => true,
    };
    Some(PERMITTED.contains(&word) && exception)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::planted;

    #[test]
    fn an_or_needs_one_side_and_an_and_needs_every_side() {
        for fine in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0-only) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
            "MIT AND BSD-3-Clause",
        ] {
            assert!(permitted(fine), "{fine}");
        }
        for refused in [
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "MIT OR",
            "(MIT",
            "",
            "MIT MIT",
            "Apache-2.0 WITH Other-exception",
        ] {
            assert!(!permitted(refused), "{refused}");
        }
    }

    #[test]
    fn a_foreign_package_with_a_refused_or_missing_licence_is_caught() {
        let foreign = |licence: Option<&str>| Package {
            licence: licence.map(str::to_owned),
            source: Some("registry+one".to_owned()),
            ..planted("a", &[])
        };
        assert!(refused(&[foreign(Some("MIT"))]).is_empty());
        assert_eq!(refused(&[foreign(Some("AGPL-3.0-only")), foreign(None)]).len(), 2);
    }
}
