//! Applies the project's rules to the tree.

use std::path::Path;

use wakeful_tidy::tree::{self, File};
use wakeful_tidy::{
    conformance, dependency, edge, fail_point, length, licence, link, manifest, metadata, migration, module,
    private_word, purity, sql, witness, word,
};

fn holds(violations: &[String]) {
    assert!(
        violations.is_empty(),
        "{} violations:\n  {}",
        violations.len(),
        violations.join("\n  ")
    );
}

fn files() -> Vec<File> {
    tree::files(&tree::root()).unwrap_or_default()
}

fn rust_files() -> Vec<File> {
    files()
        .into_iter()
        .filter(|file| file.extension() == "rs")
        .collect()
}

#[test]
fn the_tree_can_be_read() {
    assert!(
        rust_files()
            .iter()
            .any(|file| file.path == "crates/tidy/tests/all.rs")
    );
}

#[test]
fn every_source_file_has_at_most_500_lines() {
    holds(&length::long_files(&files()));
}

#[test]
fn every_function_has_at_most_70_lines() {
    holds(
        &rust_files()
            .iter()
            .flat_map(length::long_functions)
            .collect::<Vec<_>>(),
    );
}

fn shipped_files() -> Vec<File> {
    let is_shipped = |file: &File| {
        let source = file.source_of().filter(|_| !file.is_test());
        source.is_some_and(|krate| {
            krate.starts_with("crates/") && !["crates/sim", "crates/tidy"].contains(&krate)
        })
    };
    rust_files().into_iter().filter(is_shipped).collect()
}

#[test]
fn no_shipped_function_has_a_tuple_parameter() {
    holds(
        &shipped_files()
            .iter()
            .flat_map(length::tuple_parameters)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn no_shipped_function_has_more_than_four_parameters() {
    holds(
        &shipped_files()
            .iter()
            .flat_map(length::many_parameters)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn every_line_of_rust_has_at_most_160_columns() {
    holds(
        &rust_files()
            .iter()
            .flat_map(length::wide_lines)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn no_crate_crosses_a_dependency_boundary() {
    holds(&edge::forbidden(&metadata::workspace(&tree::root()).unwrap()));
}

#[test]
fn the_core_depends_on_nothing_that_could_do_io() {
    holds(&purity::foreign_dependencies(
        &metadata::workspace(&tree::root()).unwrap(),
    ));
}

#[test]
fn the_core_has_no_clock_io_async_or_random_order() {
    let files = rust_files();
    let core = files
        .iter()
        .filter(|file| file.path.starts_with("crates/core/src/"));
    holds(&core.flat_map(purity::impurities).collect::<Vec<_>>());
}

#[test]
fn no_migration_is_ever_edited() {
    holds(&migration::violations(&files()));
}

#[test]
fn sql_occurs_only_in_the_store() {
    holds(
        &rust_files()
            .iter()
            .flat_map(sql::outside_the_store)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn every_conformance_row_occurs_once_and_its_witness_exists() {
    let files = files();
    let known = conformance::Known::in_tree(&files);
    let mut violations = Vec::new();
    for table in conformance::TABLES {
        let path = format!("docs/conformance/{}.md", table.letter);
        let text = files
            .iter()
            .find(|file| file.path == path)
            .map(|file| file.text.as_str());
        let (counts, found) = conformance::judge(table, text.unwrap_or(""), &known);
        println!("conformance {}: {counts}", table.letter);
        violations.extend(found.into_iter().map(|fault| format!("{path}: {fault}")));
    }
    holds(&violations);
}

#[test]
fn every_witness_names_its_rows_and_every_row_its_witnesses() {
    let files = files();
    let mut named = Vec::new();
    for table in conformance::TABLES {
        let path = format!("docs/conformance/{}.md", table.letter);
        let text = files.iter().find(|file| file.path == path);
        named.extend(conformance::named_tests(
            table,
            text.map_or("", |file| &file.text),
        ));
    }
    holds(&witness::violations(&named, &files));
}

#[test]
fn every_dependency_has_a_permitted_licence() {
    holds(&licence::refused(&metadata::resolved(&tree::root()).unwrap()));
}

#[test]
fn every_dependency_comes_from_the_registry() {
    holds(&dependency::strange_sources(
        &metadata::resolved(&tree::root()).unwrap(),
    ));
}

#[test]
fn no_package_is_built_in_two_versions_without_a_reason() {
    let list = include_str!("../duplicates.txt");
    holds(&dependency::duplicates(
        &metadata::resolved(&tree::root()).unwrap(),
        list,
    ));
}

#[test]
fn every_dependency_is_used() {
    holds(&dependency::unused(
        &metadata::workspace(&tree::root()).unwrap(),
        &files(),
    ));
}

#[test]
fn every_crate_has_one_test_program() {
    holds(&module::extra_test_programs(&files()));
}

#[test]
fn every_rust_file_is_reached_by_a_mod_line() {
    holds(&module::unreached(&files()));
}

#[test]
fn every_crate_inherits_the_workspace_lints() {
    holds(&manifest::without_lints(&files()));
}

#[test]
fn every_crate_root_forbids_unsafe_code() {
    holds(&manifest::without_forbid(&files()));
}

#[test]
fn every_fail_point_is_listed_and_every_listed_one_is_used() {
    holds(&fail_point::violations(&files()));
}

#[test]
fn no_link_between_documents_is_dead() {
    let root = tree::root();
    let files = files();
    let documents = files.iter().filter(|file| file.extension() == "md");
    let exists = |path: &Path| root.join(path).exists();
    holds(
        &documents
            .flat_map(|file| link::dead(file, exists))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn the_project_speaks_of_itself_alone() {
    holds(&files().iter().flat_map(word::unsayable).collect::<Vec<_>>());
}

// Conformance: H-002
#[test]
fn no_text_for_people_contains_callback() {
    holds(&files().iter().flat_map(word::historical).collect::<Vec<_>>());
}

/// Private words per 10,000 comment and document lines. Lower it whenever the count falls; never raise it.
const PRIVATE_WORDS_MAX: usize = 1;

#[test]
fn private_words_only_become_fewer() {
    let files = files();
    let words = private_word::listed(&files).unwrap_or_else(|problem| panic!("{problem}"));
    let found = private_word::usage(&files, &words).per_ten_thousand();
    println!("private words per 10,000 lines: {found}");
    assert!(
        found <= PRIVATE_WORDS_MAX,
        "{found} private words per 10,000 comment and document lines, at most {PRIVATE_WORDS_MAX}; docs/STYLE.md lists them"
    );
    assert!(
        found + 10 > PRIVATE_WORDS_MAX,
        "only {found} private words per 10,000 lines: lower PRIVATE_WORDS_MAX to that number"
    );
}
