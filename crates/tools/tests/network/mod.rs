//! Tests the network of commands. Origins are servers on this machine's loopback address, which tests name.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use wakeful_core::policy::{HostDecision, Target};
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_ports::tool::{HostPolicy, ToolHost};
use wakeful_tools::{DisabledFeatures, OwnAddresses};

use crate::fixture::{CommandResult, NeverStop, ToolFixture, act, attempt, block_on, eventually, scope};

fn allowed(hosts: &[&str]) -> SandboxScope {
    SandboxScope {
        allowed_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        ..scope()
    }
}

fn run_in(bed: &ToolFixture, scope: SandboxScope, cmd: &str) -> CommandResult {
    let mut request = act(&json!({"cmd": cmd}));
    request.scope = scope;
    CommandResult::of(block_on(bed.tools.perform(request, NeverStop)))
}

/// A server on this machine that answers every request with a text.
fn origin() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _read = stream.read(&mut [0; 4096]);
            let _sent =
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved");
        }
    });
    port
}

#[test]
fn a_command_runs_servers_on_its_own_loopback() {
    let bed = ToolFixture::new();
    let seen = bed.run(&attempt("loopback")).ok();
    assert_eq!(seen.stdout(), "loopback: ok\n");
    assert!(seen.json["sandbox"].as_str().expect("a level").contains("+netns"));
}

#[test]
fn an_allowed_host_is_reached_and_the_connection_is_logged() {
    let bed = ToolFixture::new();
    let port = origin();
    let target = format!("localhost:{port}");
    for what in ["proxy-get", "proxy-connect"] {
        let seen = run_in(&bed, allowed(&[&target]), &attempt(&format!("{what} {target}"))).ok();
        assert!(seen.stdout().contains("served"), "{}", seen.json);
        let entry = &seen.json["connections"][0];
        assert_eq!(
            (
                &entry["host"],
                &entry["port"],
                &entry["verdict"],
                &entry["reason"]
            ),
            (
                &json!("localhost"),
                &json!(port),
                &json!("allowed"),
                &json!(target)
            )
        );
        assert!(entry["received_bytes"].as_u64() > Some(6), "{entry}");
    }
}

#[test]
fn a_policy_stops_a_listed_host_and_opens_no_private_one() {
    let bed = ToolFixture::new();
    let port = origin();
    let [listed, stopped] = ["localhost", "127.0.0.1"].map(|host| format!("{host}:{port}"));
    let unlisted = format!("127.0.0.2:{port}");
    let through = |target: &str| {
        let mut request = act(&json!({"cmd": attempt(&format!("proxy-connect {target}"))}));
        request.scope = allowed(&[&listed, &stopped]);
        request.hosts = HostPolicy::new(|target| match target {
            Target::Host { host, .. } if host == "127.0.0.1" => HostDecision::Refused {
                rule: "main.cedar#local".to_owned(),
            },
            Target::Host { host, .. } if host == "127.0.0.2" => HostDecision::Permitted {
                rule: "main.cedar#open".to_owned(),
            },
            Target::Host { .. } | Target::Path { .. } | Target::Agent { .. } | Target::Secret { .. } => {
                HostDecision::AsListed
            }
        });
        CommandResult::of(block_on(bed.tools.perform(request, NeverStop))).ok()
    };
    assert_eq!(through(&listed).json["connections"][0]["verdict"], "allowed");
    for (target, words) in [
        (&stopped, "the policy \"main.cedar#local\""),
        (&unlisted, "not on the agent's list"),
    ] {
        let seen = through(target);
        assert!(seen.stdout().starts_with("HTTP/1.1 403"), "{}", seen.json);
        let entry = &seen.json["connections"][0];
        assert_eq!(entry["verdict"], "refused");
        assert!(
            entry["reason"].as_str().expect("a reason").contains(words),
            "{entry}"
        );
    }
}

#[test]
fn a_named_port_of_this_machine_is_reached_on_the_commands_loopback() {
    let bed = ToolFixture::new();
    let port = origin();
    let get = attempt(&format!("direct-get {port}"));
    for entry in [format!("localhost:{port}"), format!("127.0.0.1:{port}")] {
        let seen = run_in(&bed, allowed(&[&entry]), &get).ok();
        assert!(seen.stdout().contains("served"), "{}", seen.json);
        let logged = &seen.json["connections"][0];
        assert_eq!(
            (&logged["verdict"], &logged["reason"]),
            (&json!("allowed"), &json!(entry))
        );
    }
    // Wildcards, other ports, denied ports and the ports of servers inside lead nowhere.
    let named = format!("localhost:{port}");
    let denying = SandboxScope {
        denied_hosts: BTreeSet::from([named.clone()]),
        ..allowed(&[&named])
    };
    for scope in [
        scope(),
        allowed(&["*.localhost.example", "localhost", "packages"]),
        allowed(&[&format!("localhost:{}", port ^ 1)]),
        denying,
    ] {
        let seen = run_in(&bed, scope, &get).not_ok();
        assert_eq!(seen.stdout(), "direct-get: ConnectionRefused\n", "{}", seen.json);
    }
}

#[test]
fn a_policy_is_followed_on_the_commands_loopback_too() {
    let bed = ToolFixture::new();
    let port = origin();
    let mut request = act(&json!({"cmd": attempt(&format!("direct-get {port}"))}));
    request.scope = allowed(&[&format!("localhost:{port}")]);
    request.hosts = HostPolicy::new(|_| HostDecision::Refused {
        rule: "main.cedar#local".to_owned(),
    });
    let seen = CommandResult::of(block_on(bed.tools.perform(request, NeverStop)));
    assert!(!seen.stdout().contains("served"), "{}", seen.json);
    assert_eq!(seen.json["connections"][0]["verdict"], "refused");
}

#[test]
fn the_api_is_reached_by_no_command_although_it_is_named() {
    let port = origin();
    let names = ["localhost", "127.0.0.1"].map(|host| format!("{host}:{port}"));
    let own = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let bed = ToolFixture::with(|options| options.own_addresses = OwnAddresses::new(move || vec![own]));
    for name in &names {
        for what in [
            format!("direct-get {port}"),
            format!("proxy-connect {name}"),
            format!("proxy-get {name}"),
        ] {
            let seen = run_in(&bed, allowed(&[&names[0], &names[1]]), &attempt(&what));
            assert!(!seen.stdout().contains("served"), "{}", seen.json);
            let logged = &seen.json["connections"][0];
            assert_eq!(logged["verdict"], "refused", "{}", seen.json);
            assert!(
                logged["reason"]
                    .as_str()
                    .expect("a reason")
                    .contains("Wakeful's own API"),
                "{logged}"
            );
        }
    }
    let without = [
        DisabledFeatures {
            no_network_namespace: true,
            ..DisabledFeatures::default()
        },
        crate::fixture::LEVELS[1],
    ];
    for pretend in without {
        let bed = ToolFixture::at(pretend);
        let seen = run_in(
            &bed,
            allowed(&[&names[0]]),
            &attempt(&format!("direct-get {port}")),
        );
        assert_eq!(seen.stdout(), "direct-get: PermissionDenied\n", "{}", seen.json);
    }
}

// Conformance: A-177
#[test]
fn other_hosts_and_this_machine_are_refused_with_the_next_step() {
    let bed = ToolFixture::new();
    let port = origin();
    for target in [format!("127.0.0.1:{port}"), "evil.example:443".to_owned()] {
        let seen = run_in(&bed, scope(), &attempt(&format!("proxy-connect {target}"))).ok();
        assert!(seen.stdout().starts_with("HTTP/1.1 403"), "{}", seen.json);
        let entry = &seen.json["connections"][0];
        assert_eq!(entry["verdict"], "refused");
        let reason = entry["reason"].as_str().expect("a reason");
        assert!(reason.contains("wakeful agent set main --allow-host"), "{reason}");
    }
}

#[test]
fn sockets_that_lead_elsewhere_do_not_exist() {
    let bed = ToolFixture::new();
    for what in [
        "raw",
        "packet",
        "generic-netlink",
        "icmp",
        "vsock",
        "unix-datagram",
        "unix-stream",
    ] {
        let seen = bed.run(&attempt(what)).not_ok();
        assert_eq!(seen.stdout(), format!("{what}: PermissionDenied\n"));
    }
    // A datagram to another machine has no route.
    let seen = bed.run(&attempt("dns")).not_ok();
    assert_eq!(seen.stdout(), "dns: NetworkUnreachable\n");
}

#[test]
fn without_a_network_namespace_there_are_no_sockets() {
    let bed = ToolFixture::at(DisabledFeatures {
        no_network_namespace: true,
        ..DisabledFeatures::default()
    });
    for what in ["listen", "udp", "raw"] {
        let seen = bed.run(&attempt(what)).not_ok();
        assert_eq!(seen.stdout(), format!("{what}: PermissionDenied\n"));
    }
    assert_eq!(bed.run("echo \"[$http_proxy]\"").ok().stdout(), "[]\n");
}

#[test]
fn a_published_port_is_reached_from_this_machine() {
    let bed = ToolFixture::new();
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let publishing = SandboxScope {
        published_ports: BTreeSet::from([port]),
        ..scope()
    };
    let client = thread::spawn(move || {
        eventually("an answer of the server", || {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
            let mut text = String::new();
            stream.read_to_string(&mut text).ok()?;
            (text == "inside").then_some(text)
        })
    });
    let seen = run_in(&bed, publishing, &attempt(&format!("serve-once {port}"))).ok();
    assert_eq!(seen.json["findings"], Value::Null, "{}", seen.json);
    assert_eq!(client.join().expect("a client"), "inside");
    assert!(
        TcpStream::connect(("127.0.0.1", port)).is_err(),
        "it ends with the command"
    );
}

#[test]
fn a_busy_port_is_reported_and_not_published() {
    let bed = ToolFixture::new();
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = busy.local_addr().expect("an address").port();
    let publishing = SandboxScope {
        published_ports: BTreeSet::from([port]),
        ..scope()
    };
    let seen = run_in(&bed, publishing, "true").ok();
    let finding = seen.json["findings"][0].as_str().expect("a finding");
    assert!(
        finding.contains(&format!("port {port} was not published")),
        "{finding}"
    );
}

#[test]
fn programs_find_the_proxy_in_their_environment() {
    let bed = ToolFixture::new();
    let seen = bed.run("echo $http_proxy $HTTPS_PROXY $no_proxy").ok();
    let proxy = "http://127.0.0.1:61080";
    let expected = format!("{proxy} {proxy} localhost,127.0.0.1,::1,.localhost\n");
    assert_eq!(seen.stdout(), expected);
}
