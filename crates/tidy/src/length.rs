//! Limits for the length of files, functions, lines and parameter lists.
//!
//! Most functions are short in any code base; the harm comes from the few very long ones, which are too
//! risky to change. Therefore the limits are hard and small, and code that exceeds them is split.

use crate::scan::{Token, closing, is_text, item_body, item_end, scan};
use crate::tree::File;
use crate::witness::is_comment_line;

/// A file covers one noun; a longer file covers two.
pub const FILE_LINES_MAX: usize = 500;
/// A function fits on one screen, including signature and closing brace.
pub const FUNCTION_LINES_MAX: usize = 70;
/// Not counting `self`; a function that needs more takes a struct with named fields.
pub const PARAMETERS_MAX: usize = 4;
/// The formatter aims at 110 columns; strings and comments may exceed that, but not this limit.
pub const LINE_COLUMNS_MAX: usize = 160;

const COUNTED: [&str; 6] = ["rs", "ts", "tsx", "py", "sh", "c"];

/// Returns source files that are too long. Generated files (`*.gen.*`) are exempt, and the conformance
/// comments of tests do not count.
pub fn long_files(files: &[File]) -> Vec<String> {
    let counted = |file: &&File| {
        let is_source = COUNTED.contains(&file.extension()) || file.path.starts_with("scripts/");
        is_source && !file.path.contains(".gen.")
    };
    let mut found = Vec::new();
    for file in files.iter().filter(counted) {
        let lines = file.text.lines().filter(|line| !is_comment_line(line)).count();
        if lines > FILE_LINES_MAX {
            let path = &file.path;
            found.push(format!(
                "{path}: {lines} lines, at most {FILE_LINES_MAX}; split it by noun"
            ));
        }
    }
    found
}

/// Returns Rust functions that are too long.
pub fn long_functions(file: &File) -> Vec<String> {
    let scanned = scan(&file.text);
    let tokens = scanned.tokens();
    let mut found = Vec::new();
    for (index, name) in functions(&tokens) {
        let end = item_end(&tokens, index).saturating_sub(1);
        let last = tokens.get(end).map_or(name.line, |last| last.line);
        let line = tokens.get(index).map_or(name.line, |token| token.line);
        let lines = last - line + 1;
        if lines > FUNCTION_LINES_MAX {
            let (path, name) = (&file.path, name.text);
            found.push(format!(
                "{path}:{line}: `{name}` has {lines} lines, at most {FUNCTION_LINES_MAX}"
            ));
        }
    }
    found
}

/// Returns the position and name of each function. `fn(` is a function type and has neither name nor body.
fn functions<'a>(tokens: &'a [Token<'a>]) -> impl Iterator<Item = (usize, &'a Token<'a>)> {
    let begins = (0..tokens.len()).filter(|index| is_text(tokens, *index, &["fn"]));
    let named = begins.filter_map(|index| Some((index, tokens.get(index + 1)?)));
    named.filter(|(_, name)| name.text != "(")
}

/// Returns shipped functions that destructure a tuple next to other parameters, `(a, b): (A, B)`. It hides
/// the number of parameters; use separate parameters, a struct with named fields or a method.
pub fn tuple_parameters(file: &File) -> Vec<String> {
    let scanned = scan(&file.text).without_tests();
    let tokens = scanned.tokens();
    let mut found = Vec::new();
    for (index, name) in functions(&tokens) {
        for at in index + 2..item_body(&tokens, index) {
            if is_tuple_beside_others(&tokens, at) {
                let (path, line, name) = (&file.path, name.line, name.text);
                found.push(format!(
                    "{path}:{line}: `{name}` has a tuple of parameters; name them"
                ));
            }
        }
    }
    found
}

/// Returns whether a tuple pattern begins here in a signature. Only a pattern has a colon after its
/// bracket. A tuple that is the only parameter is permitted: it is one value, such as an element of a list
/// of pairs.
fn is_tuple_beside_others(tokens: &[Token<'_>], at: usize) -> bool {
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text);
    let before = if text(at - 1) == "&" { at - 2 } else { at - 1 };
    let colon = closing(tokens, at);
    if text(at) != "(" || text(colon) != ":" || !["(", ","].contains(&text(before)) {
        return false;
    }
    let kind = if text(colon + 1) == "&" {
        colon + 2
    } else {
        colon + 1
    };
    let is_only = text(before) == "(" && text(kind) == "(" && text(closing(tokens, kind)) == ")";
    !is_only
}

/// Returns shipped functions with too many parameters. Clippy counts `self` too, so its limit is one
/// higher. Property tests are exempt, because their parameters are generated values.
pub fn many_parameters(file: &File) -> Vec<String> {
    let scanned = scan(&file.text).without_tests();
    let tokens = scanned.tokens();
    let mut found = Vec::new();
    for (index, name) in functions(&tokens) {
        let count = parameters(&tokens, index + 2);
        let is_property = is_text(&tokens, index.saturating_sub(4), &["#", "[", "test", "]"]);
        if count > PARAMETERS_MAX && !is_property {
            let (path, line, name) = (&file.path, name.line, name.text);
            found.push(format!(
                "{path}:{line}: `{name}` has {count} parameters, at most {PARAMETERS_MAX}; name them in a struct"
            ));
        }
    }
    found
}

/// Returns the number of parameters of a signature, without `self`. `at` is the index after the name of the
/// function.
fn parameters(tokens: &[Token<'_>], at: usize) -> usize {
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text);
    let open = if text(at) == "<" {
        angle_end(tokens, at)
    } else {
        at
    };
    let end = closing(tokens, open).saturating_sub(1);
    let (mut count, mut start, mut index) = (0, open + 1, open + 1);
    while index < end {
        match text(index) {
            "(" | "[" | "{" => index = closing(tokens, index),
            "<" => index = angle_end(tokens, index),
            "," => {
                count += usize::from(!is_receiver(tokens, start));
                index += 1;
                start = index;
            }
            _ => index += 1,
        }
    }
    count + usize::from(start < end && !is_receiver(tokens, start))
}

/// Returns the index after the angle bracket that closes the one at `open`. The bracket of an arrow closes
/// nothing.
fn angle_end(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "<" => depth += 1,
            ">" if !is_text(tokens, index.saturating_sub(1), &["-"]) => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Returns whether the parameter that begins here is `self`, in any form.
fn is_receiver(tokens: &[Token<'_>], start: usize) -> bool {
    let mut pattern = tokens
        .iter()
        .skip(start)
        .take_while(|token| ![":", ",", ")"].contains(&token.text));
    pattern.any(|token| token.text == "self")
}

/// Returns lines of Rust that are too wide.
pub fn wide_lines(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX {
            let (path, line) = (&file.path, index + 1);
            found.push(format!(
                "{path}:{line}: {columns} columns, at most {LINE_COLUMNS_MAX}"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_501_lines_is_caught_unless_it_was_generated() {
        let long = "x\n".repeat(501);
        for path in ["a.rs", "web/a.tsx", "shims/a.py", "scripts/check"] {
            assert_eq!(long_files(&[File::new(path, &long)]).len(), 1, "{path}");
        }
        assert_eq!(
            long_files(&[File::new("web/api.gen.ts", &long), File::new("docs/a.md", &long)]).len(),
            0
        );
        assert_eq!(long_files(&[File::new("a.rs", &"x\n".repeat(500))]).len(), 0);
        let named = "x\n".repeat(500) + "    // Conformance: L-001 (a),\n    //     L-002 (b)\n";
        assert_eq!(long_files(&[File::new("a.rs", &named)]).len(), 0);
        let other = "x\n".repeat(500) + "    //     indented\n";
        assert_eq!(long_files(&[File::new("a.rs", &other)]).len(), 1);
    }

    fn function(body_lines: usize) -> File {
        File::new(
            "a.rs",
            &format!(
                "fn a(x: [u8; 4]) {{\n{}}}\nfn b() {{}}\n",
                "    one();\n".repeat(body_lines)
            ),
        )
    }

    #[test]
    fn a_function_of_71_lines_is_caught() {
        assert_eq!(
            long_functions(&function(69)),
            ["a.rs:1: `a` has 71 lines, at most 70"]
        );
        assert!(long_functions(&function(68)).is_empty());
    }

    #[test]
    fn braces_in_strings_and_comments_do_not_end_a_function() {
        let body = "    one(\"}\", '}', r\"}\"); // }\n".repeat(69);
        assert_eq!(
            long_functions(&File::new("a.rs", &format!("fn a() {{\n{body}}}\n"))).len(),
            1
        );
    }

    #[test]
    fn a_nested_function_is_measured_separately() {
        let inner = format!("fn inner() {{\n{}}}\n", "one();\n".repeat(69));
        let file = File::new("a.rs", &format!("fn outer(f: fn(u8)) {{\n{inner}}}\n"));
        assert_eq!(long_functions(&file).len(), 2);
    }

    #[test]
    fn a_destructured_tuple_next_to_other_parameters_is_caught() {
        let found = |text: &str| tuple_parameters(&File::new("a.rs", text));
        assert_eq!(
            found("fn a(z: u8, (x, y): (u8, u8)) {}\n"),
            ["a.rs:1: `a` has a tuple of parameters; name them"]
        );
        for text in [
            "fn a<F: Fn(u8) -> u8>(f: F, &(x, y): &(u8, u8)) {}",
            "fn a((x, y): (u8, u8), z: u8) {}",
            "fn a((x, y): Pair) {}",
            "trait A { fn a(\n    &self,\n    z: [u8; 4],\n    (mut x, _): (u8, u8),\n) -> u8; }",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
        for text in [
            "fn a(pairs: &[(u8, u8)], map: Map<u8, (u8, u8)>, Json(x): Json<(u8, u8)>) -> (u8, u8) {}",
            "fn a() { let one = |(x, y): (u8, u8)| x + y; let (p, q): (u8, u8) = (1, 2); }",
            "fn a((x, y): (u8, u8)) {} fn b(&(x, y): &(u8, u8)) {}",
            "#[cfg(test)]\nmod tests { fn a(z: u8, (x, y): (u8, u8)) {} }",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_fifth_parameter_is_caught() {
        let found = |text: &str| many_parameters(&File::new("a.rs", text));
        assert_eq!(
            found("fn a(p: u8, q: u8, r: u8, s: u8, t: u8) {}\n"),
            ["a.rs:1: `a` has 5 parameters, at most 4; name them in a struct"]
        );
        for text in [
            "fn a<'x, F: Fn(u8) -> Map<u8, u8>>(f: F, p: &'x u8, q: u8, r: u8, s: u8) {}",
            "trait A { fn a(\n    &self,\n    p: u8,\n    q: u8,\n    r: u8,\n    s: u8,\n    t: u8,\n) -> u8; }",
            "fn a(p: Map<u8, u8>, (q, r): (u8, u8), s: impl Fn(u8) -> u8, t: [u8; 4], Json(u): Json<u8>) {}",
            "fn outer() { fn a(p: u8, q: u8, r: u8, s: u8, t: u8) {} }",
        ] {
            assert_eq!(found(text).len(), 1, "{text}");
        }
        for text in [
            "fn a(p: u8, q: u8, r: u8, s: u8,) {}",
            "impl A { fn a(&'x mut self, p: u8, q: u8, r: u8, s: u8) {} }",
            "impl A { fn a(mut self: Box<Self>, p: u8, q: u8, r: u8, s: u8) {} }",
            "fn a<P, Q, R, S, T>(p: Map<P, Q>, f: fn(u8, u8, u8) -> Map<u8, u8>, q: (R, S, T), r: [u8; 4]) {}",
            "fn a() { call(1, 2, 3, 4, 5); } fn b() -> Five<u8, u8, u8, u8, u8> {}",
            "proptest! { #[test] fn a(p in 0..1, q in 0..1, r in 0..1, s in 0..1, t in 0..1) {} }",
            "#[cfg(test)]\nmod tests { fn a(p: u8, q: u8, r: u8, s: u8, t: u8) {} }",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_line_of_161_columns_is_caught() {
        assert!(wide_lines(&File::new("a.rs", &"é".repeat(160))).is_empty());
        assert_eq!(
            wide_lines(&File::new("a.rs", &"é".repeat(161))),
            ["a.rs:1: 161 columns, at most 160"]
        );
    }
}
