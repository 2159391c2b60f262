//! The documented API contract matches the served one.

use std::path::Path;

// Conformance: H-084, A-04, A-209
#[test]
fn the_documented_contract_matches_the_served_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let served = wakeful_server::openapi_json();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, served).expect("docs/openapi.json is written");
    }
    let written = std::fs::read_to_string(&path).expect("docs/openapi.json is there");
    assert!(
        written == served,
        "docs/openapi.json is stale: run `UPDATE_OPENAPI=1 cargo test -p wakeful-server`"
    );
}
