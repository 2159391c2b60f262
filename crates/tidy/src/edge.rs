//! Which crate may depend on which.
//!
//! The boundaries are few and strict: the core depends on no other crate, the ports on the core, the
//! sibling crates only on those two, the runtime also on the store, and the binary on all of them. A new
//! crate fails this check until it has a row below, which is the time to ask whether a module would be
//! sufficient.

use crate::metadata::{Kind, Package};

/// The workspace crates that a crate may depend on.
enum Allowed {
    Only(&'static [&'static str]),
    /// The first list, and in tests also the second.
    InTests(&'static [&'static str], &'static [&'static str]),
    /// Every shipped crate; in tests also unshipped ones.
    Anything,
    /// Every crate, because the crate itself is not shipped.
    AnythingEver,
}

/// Development crates. No shipped crate may depend on them.
const NEVER_SHIPPED: [&str; 5] = ["sim", "tidy", "bench", "torture", "checker"];

const SIBLINGS: [&str; 5] = ["store", "models", "policy", "tools", "fleet"];

fn allowed(crate_name: &str) -> Option<Allowed> {
    Some(match crate_name {
        // The checkers share no code with the program; otherwise both could contain the same error.
        "core" | "tidy" | "checker" => Allowed::Only(&[]),
        "ports" | "api" => Allowed::Only(&["core"]),
        // Only for the names of the fail points and planted bugs; it tests the program from outside.
        "torture" => Allowed::Only(&["ports"]),
        sibling if SIBLINGS.contains(&sibling) => Allowed::Only(&["core", "ports"]),
        "runtime" => Allowed::Only(&["core", "ports", "store"]),
        "server" => Allowed::InTests(&["core", "ports", "api", "runtime"], &["store"]),
        "tui" => Allowed::Only(&["api"]),
        "wakeful" => Allowed::Anything,
        "sim" | "bench" => Allowed::AnythingEver,
        _ => return None,
    })
}

/// Returns the short name of a workspace package (`core` for `wakeful-core`); none for other packages.
fn short(package: &str) -> Option<&str> {
    if package == "wakeful" {
        Some(package)
    } else {
        package.strip_prefix("wakeful-")
    }
}

/// Returns dependencies that cross a boundary.
pub fn forbidden(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let Some(allowed) = short(&package.name).and_then(allowed) else {
            let name = &package.name;
            found.push(format!(
                "{name}: no row in tidy's `edge`; a new crate needs a decision record and a row"
            ));
            continue;
        };
        for dependency in &package.dependencies {
            let Some(target) = short(&dependency.name) else {
                continue;
            };
            let ships = !NEVER_SHIPPED.contains(&target);
            let fine = match allowed {
                Allowed::Only(names) => names.contains(&target),
                Allowed::InTests(names, tests) => {
                    names.contains(&target) || dependency.kind == Kind::Dev && tests.contains(&target)
                }
                Allowed::Anything => ships || dependency.kind == Kind::Dev,
                Allowed::AnythingEver => true,
            };
            if !fine {
                let (name, kind) = (&package.name, dependency.kind);
                found.push(format!("{name}: may not depend on wakeful-{target} ({kind:?})"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::planted;

    fn caught(from: &str, to: &str, kind: Kind) -> bool {
        !forbidden(&[planted(from, &[(to, kind)])]).is_empty()
    }

    #[test]
    fn the_core_depends_on_no_workspace_crate_and_wire_types_on_core() {
        assert!(!caught("wakeful-api", "wakeful-core", Kind::Normal));
        for from in ["wakeful-core", "wakeful-api", "wakeful-tidy"] {
            assert!(caught(from, "wakeful-ports", Kind::Normal), "{from}");
            assert!(!caught(from, "serde", Kind::Normal), "{from}");
        }
    }

    #[test]
    fn the_checker_links_no_crate_of_the_program_even_in_tests() {
        for to in [
            "wakeful-core",
            "wakeful-ports",
            "wakeful-api",
            "wakeful",
            "wakeful-torture",
        ] {
            for kind in [Kind::Normal, Kind::Dev, Kind::Build] {
                assert!(caught("wakeful-checker", to, kind), "{to}");
            }
        }
        assert!(caught("wakeful-torture", "wakeful-store", Kind::Normal));
        assert!(!caught("wakeful-torture", "wakeful-ports", Kind::Normal));
    }

    #[test]
    fn siblings_depend_on_core_and_ports_but_never_on_each_other() {
        assert!(!caught("wakeful-store", "wakeful-core", Kind::Normal));
        assert!(!caught("wakeful-store", "wakeful-ports", Kind::Dev));
        assert!(caught("wakeful-store", "wakeful-tools", Kind::Normal));
        assert!(caught("wakeful-runtime", "wakeful-sim", Kind::Dev));
    }

    #[test]
    fn the_runtime_depends_on_the_store_and_no_other_sibling() {
        assert!(!caught("wakeful-runtime", "wakeful-store", Kind::Normal));
        assert!(caught("wakeful-runtime", "wakeful-tools", Kind::Dev));
        assert!(caught("wakeful-store", "wakeful-runtime", Kind::Dev));
    }

    #[test]
    fn an_interface_crate_depends_only_on_what_it_presents() {
        assert!(!caught("wakeful-server", "wakeful-runtime", Kind::Normal));
        assert!(caught("wakeful-server", "wakeful-store", Kind::Normal));
        assert!(!caught("wakeful-server", "wakeful-store", Kind::Dev));
        assert!(caught("wakeful-tui", "wakeful-core", Kind::Normal));
    }

    #[test]
    fn no_shipped_crate_depends_on_an_unshipped_one() {
        for to in [
            "wakeful-sim",
            "wakeful-tidy",
            "wakeful-bench",
            "wakeful-torture",
            "wakeful-checker",
        ] {
            assert!(caught("wakeful", to, Kind::Normal), "{to}");
            assert!(caught("wakeful", to, Kind::Build), "{to}");
        }
        assert!(!caught("wakeful", "wakeful-sim", Kind::Dev));
        assert!(!caught("wakeful-sim", "wakeful-store", Kind::Normal));
    }

    #[test]
    fn a_crate_without_a_row_is_caught() {
        assert_eq!(forbidden(&[planted("wakeful-utils", &[])]).len(), 1);
    }
}
