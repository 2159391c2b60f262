use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

fn rules(allowed: &[&str], denied: &[&str]) -> HostRules {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let scope = SandboxScope {
        allowed_hosts: list(allowed),
        denied_hosts: list(denied),
        ..SandboxScope::default()
    };
    HostRules::parse(&scope).expect("rules")
}

fn scope(rules: &HostRules, host: &str, port: u16) -> HostScope {
    rules.judge(&Host::parse(host).expect("a host"), port).scope
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn every_spelling_of_a_host_has_one_form() {
    for (text, expected) in [
        ("Example.COM.", "example.com"),
        ("EXAMPLE.com", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("ｅｘａｍｐｌｅ．ｃｏｍ", "example.com"),
        ("example\u{ad}.com", "example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("０x7f.1", "127.0.0.1"),
        ("①②⑦.0.0.1", "127.0.0.1"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("[::FFFF:7f00:1]", "127.0.0.1"),
        ("a_b.example", "a_b.example"),
    ] {
        let host = Host::parse(text).expect(text);
        assert_eq!(host.to_string(), expected, "{text}");
    }
}

#[test]
fn a_text_that_is_not_one_host_is_refused() {
    let long = "a".repeat(64) + ".com";
    let longer = "a.".repeat(200) + "com";
    for text in [
        "",
        ".",
        "..",
        "a..b",
        "a.com..",
        ".a.com",
        "a b",
        "a\r\nb",
        "a\0",
        "a/b",
        "a@b",
        "user:pass@a",
        "%6cocalhost",
        "127.0.0.1%2e",
        "fe80::1%eth0",
        "[fe80::1%25eth0]",
        "[::1",
        "::1]",
        "[127.0.0.1]",
        "256.0.0.1",
        "1.2.3.4.5",
        "0x100000000",
        "a.0x7f",
        "a?b",
        "a#b",
        "a\\b",
        "a:b",
        "a,b",
        "*.a.com",
        long.as_str(),
        longer.as_str(),
    ] {
        assert!(Host::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn ports_are_plain_numbers() {
    let port = |text: &str| Host::parse_with_port(text).map(|(_, port)| port);
    assert_eq!(port("a.example:8443"), Ok(Some(8443)));
    assert_eq!(port("[::1]:80"), Ok(Some(80)));
    assert_eq!(port("::1"), Ok(None));
    for text in [
        "a:0", "a:", "a:65536", "a:+80", "a:-1", "a: 80", "a:8 0", "a:00080x", "[::1]80", "[a]:80",
    ] {
        assert!(port(text).is_err(), "{text}");
    }
}

// Conformance: A-176
#[test]
fn a_bad_pattern_is_refused_with_its_field() {
    for (text, words) in [
        ("https://a.example/", "is a URL"),
        ("*", "too wide"),
        ("*.com", "too wide"),
        ("*.*.com", "not a host"),
        ("a.*.com", "not a host"),
        ("*.127.0.0.1", "not a host"),
        ("a.example:99999", "no valid port"),
        ("a b", "not a host"),
    ] {
        let scope = SandboxScope {
            denied_hosts: [text.to_owned()].into(),
            ..SandboxScope::default()
        };
        let problem = HostRules::parse(&scope).expect_err(text);
        assert!(problem.message.starts_with("sandbox.denied_hosts"), "{problem:?}");
        assert!(problem.message.contains(words), "{problem:?}");
    }
}

#[test]
fn a_pattern_matches_its_hosts_and_ports_only() {
    let rules = rules(
        &[
            "a.example",
            "b.example:8443",
            "*.c.example",
            "*.d.example:22",
            "packages",
        ],
        &["bad.c.example", "*.worse.c.example"],
    );
    for (host, port, expected) in [
        ("a.example", 443, HostScope::Allowed),
        ("A.example.", 80, HostScope::Allowed),
        ("a.example", 22, HostScope::Unlisted),
        ("x.a.example", 443, HostScope::Unlisted),
        ("b.example", 8443, HostScope::Allowed),
        ("b.example", 443, HostScope::Unlisted),
        ("x.c.example", 443, HostScope::Allowed),
        ("x.y.c.example", 443, HostScope::Allowed),
        ("c.example", 443, HostScope::Unlisted),
        ("evilc.example", 443, HostScope::Unlisted),
        ("c.example.evil.example", 443, HostScope::Unlisted),
        ("bad.c.example", 443, HostScope::Denied),
        ("bad.c.example", 9999, HostScope::Denied),
        ("x.worse.c.example", 443, HostScope::Denied),
        ("x.d.example", 22, HostScope::Allowed),
        ("x.d.example", 443, HostScope::Unlisted),
        ("index.crates.io", 443, HostScope::Allowed),
        ("index.crates.io", 80, HostScope::Unlisted),
        ("evil.crates.io", 443, HostScope::Unlisted),
        ("1.1.1.1", 443, HostScope::Unlisted),
        ("localhost", 443, HostScope::Private),
        ("x.localhost", 443, HostScope::Private),
        ("10.0.0.1", 443, HostScope::Private),
        ("0xa9fea9fe", 80, HostScope::Private),
        ("::ffff:10.0.0.1", 80, HostScope::Private),
    ] {
        assert_eq!(scope(&rules, host, port), expected, "{host}:{port}");
    }
    let host = Host::parse("x.c.example").expect("a host");
    assert_eq!(rules.judge(&host, 443).rule, Some("*.c.example"));
}

#[test]
fn an_address_that_is_not_public_must_be_named() {
    let rules = rules(
        &[
            "a.example",
            "*.b.example",
            "localhost:3000",
            "nas.lan",
            "10.0.0.5:8080",
            "c.example:8080",
            "metadata.internal",
        ],
        &["192.168.1.1"],
    );
    let is_allowed = |host: &str, port, to: &str| {
        let host = Host::parse(host).expect("a host");
        rules.judge_address(&host, port, address(to)).is_ok()
    };
    for (host, port, to, expected) in [
        ("a.example", 443, "1.1.1.1", true),
        ("a.example", 443, "127.0.0.1", false),
        ("a.example", 443, "169.254.169.254", false),
        ("a.example", 443, "::ffff:10.0.0.1", false),
        ("a.example", 443, "fd00::1", false),
        ("x.b.example", 443, "10.0.0.1", false),
        ("localhost", 3000, "127.0.0.1", true),
        ("localhost", 3000, "::1", true),
        ("localhost", 3001, "127.0.0.1", false),
        ("localhost", 3000, "10.0.0.1", false),
        ("nas.lan", 443, "192.168.1.2", true),
        ("nas.lan", 443, "192.168.1.1", false),
        ("nas.lan", 443, "127.0.0.1", false),
        ("metadata.internal", 80, "169.254.169.254", false),
        ("c.example", 8080, "10.0.0.5", true),
        ("10.0.0.5", 8080, "10.0.0.5", true),
    ] {
        assert_eq!(is_allowed(host, port, to), expected, "{host}:{port} {to}");
    }
}

#[test]
fn a_grant_opens_one_host_and_never_a_denied_one() {
    let target = |host: &str, port| Target::Host {
        host: host.to_owned(),
        port,
        scope: HostScope::Unlisted,
    };
    let rules =
        rules(&[], &["b.example"]).with_granted(&[target("A.example", 8443), target("b.example", 443)]);
    assert_eq!(scope(&rules, "a.example", 8443), HostScope::Allowed);
    assert_eq!(scope(&rules, "a.example", 443), HostScope::Unlisted);
    assert_eq!(scope(&rules, "b.example", 443), HostScope::Denied);
    let name = Host::parse("a.example").expect("a host");
    assert!(rules.judge_address(&name, 8443, address("127.0.0.1")).is_err());
}

#[test]
fn only_exact_entries_name_ports_of_this_machine() {
    let rules = rules(
        &[
            "localhost:3000",
            "127.0.0.1:4000",
            "[::1]:5000",
            "db.localhost",
            "*.localhost.lan",
            "packages",
            "10.0.0.1:6000",
            "example.com",
            "localhost:7000",
            "localhost:8000",
        ],
        &["localhost:7000"],
    );
    let found: Vec<String> = rules
        .loopback_targets()
        .into_iter()
        .map(|(port, host)| host.with_port(port))
        .collect();
    let expected = [
        "db.localhost:80",
        "db.localhost:443",
        "localhost:3000",
        "127.0.0.1:4000",
        "[::1]:5000",
        "localhost:8000",
    ];
    assert_eq!(found, expected);
}

proptest! {
    /// For all addresses, every number form of them is judged as the address.
    #[test]
    fn number_forms_of_an_address_are_the_address(bits: u32) {
        let plain = Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = plain.octets();
        for text in [
            format!("{bits}"),
            format!("{bits:#x}"),
            format!("0{bits:o}"),
            format!("0{a:o}.{b:#x}.{c}.{d}."),
            format!("{a}.{}", bits & 0x00ff_ffff),
            format!("[::ffff:{plain}]"),
        ] {
            prop_assert_eq!(Host::parse(&text), Ok(Host::Address(plain.into())), "{}", text);
        }
    }

    /// For all texts, parsing is stable: the form of a host parses to itself.
    #[test]
    fn the_form_of_a_host_is_stable(text in "[a-zA-Z0-9.:\\[\\]xX_\u{df}\u{3002}\u{ff0e}-]{1,30}") {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host.clone()));
            prop_assert_eq!(Host::parse_with_port(&host.with_port(81)), Ok((host, Some(81))));
        }
    }

    /// For all hosts, a denied entry decides regardless of what is allowed.
    #[test]
    fn a_denied_host_is_never_allowed(name in "[a-c]{1,2}(\\.[a-c]{1,2}){1,3}", port in 1_u16..) {
        let rules = rules(&[&name, "*.a.b", "packages", &format!("{name}:{port}")], &[&name]);
        prop_assert_eq!(scope(&rules, &name, port), HostScope::Denied);
    }

    /// For all names, a domain pattern matches exactly the names below it.
    #[test]
    fn a_domain_pattern_matches_only_names_below(name in "[ab.]{1,8}") {
        if let Ok(host) = Host::parse(&name) {
            let expected = host.to_string().ends_with(".a.b");
            let found = rules(&["*.a.b"], &[]).judge(&host, 443).scope == HostScope::Allowed;
            prop_assert_eq!(found, expected);
        }
    }
}
