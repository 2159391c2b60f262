//! Which crate may name which.
//!
//! The walls are few, so that each means something: the core sees nobody, the ports see the core, the siblings
//! see only those two, the runtime also the store, and the binary joins them. A new crate fails here until it has a row below, which is the
//! moment to ask whether a module would have done.

use crate::metadata::{Kind, Package};

/// What a crate may depend on, of our own crates.
enum Allowed {
    Only(&'static [&'static str]),
    /// The first, and in tests also the second.
    InTests(&'static [&'static str], &'static [&'static str]),
    /// Everything that ships; in tests also what does not.
    Anything,
    /// Everything: the crate itself does not ship.
    AnythingEver,
}

/// Crates that exist for development alone. Nothing that ships may be built on them.
const NEVER_SHIPPED: [&str; 5] = ["sim", "tidy", "bench", "torture", "checker"];

const SIBLINGS: [&str; 5] = ["store", "models", "policy", "tools", "fleet"];

fn allowed(crate_name: &str) -> Option<Allowed> {
    Some(match crate_name {
        // Who judges the program shares nothing with it, else both could be wrong in the same way.
        "core" | "tidy" | "checker" => Allowed::Only(&[]),
        "ports" | "api" => Allowed::Only(&["core"]),
        // Only for the names of the fail points and planted bugs: it meets the program as a stranger does.
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

/// The short name of one of our packages (`core` for `wakeful-core`), or nothing for a foreign one.
fn short(package: &str) -> Option<&str> {
    if package == "wakeful" {
        Some(package)
    } else {
        package.strip_prefix("wakeful-")
    }
}

/// Dependencies that pass through a wall.
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
    fn the_core_depends_on_none_of_ours_and_the_wire_types_on_the_core() {
        assert!(!caught("wakeful-api", "wakeful-core", Kind::Normal));
        for from in ["wakeful-core", "wakeful-api", "wakeful-tidy"] {
            assert!(caught(from, "wakeful-ports", Kind::Normal), "{from}");
            assert!(!caught(from, "serde", Kind::Normal), "{from}");
        }
    }

    #[test]
    fn the_judge_of_the_program_links_none_of_it_not_even_in_tests() {
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
    fn siblings_see_core_and_ports_but_never_one_another_not_even_in_tests() {
        assert!(!caught("wakeful-store", "wakeful-core", Kind::Normal));
        assert!(!caught("wakeful-store", "wakeful-ports", Kind::Dev));
        assert!(caught("wakeful-store", "wakeful-tools", Kind::Normal));
        assert!(caught("wakeful-runtime", "wakeful-sim", Kind::Dev));
    }

    #[test]
    fn the_runtime_sees_the_store_and_no_other_sibling() {
        assert!(!caught("wakeful-runtime", "wakeful-store", Kind::Normal));
        assert!(caught("wakeful-runtime", "wakeful-tools", Kind::Dev));
        assert!(caught("wakeful-store", "wakeful-runtime", Kind::Dev));
    }

    #[test]
    fn a_face_reaches_only_what_it_shows() {
        assert!(!caught("wakeful-server", "wakeful-runtime", Kind::Normal));
        assert!(caught("wakeful-server", "wakeful-store", Kind::Normal));
        assert!(!caught("wakeful-server", "wakeful-store", Kind::Dev));
        assert!(caught("wakeful-tui", "wakeful-core", Kind::Normal));
    }

    #[test]
    fn nothing_that_ships_is_built_on_what_does_not() {
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
    fn a_crate_that_nobody_announced_is_caught() {
        assert_eq!(forbidden(&[planted("wakeful-utils", &[])]).len(), 1);
    }
}
