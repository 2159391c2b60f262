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

#[test]
fn every_type_of_the_contract_has_a_description() {
    let contract: serde_json::Value =
        serde_json::from_str(wakeful_server::openapi_json()).expect("the contract is JSON");
    let types = contract["components"]["schemas"].as_object().expect("types");
    let bare: Vec<_> = types
        .iter()
        .filter(|(_, schema)| schema["description"].as_str().is_none_or(str::is_empty))
        .map(|(name, _)| name)
        .collect();
    assert!(bare.is_empty(), "without a description: {bare:?}");
}
