//! Whether a process descends from a tool: then it is an agent's, and may not decide in a person's place.
//!
//! Every process of a command has its keeper above it, for good: the keeper is the first process of its namespace, or a
//! subreaper, so that whoever loses a parent becomes its child. What the kernel says of parents in `/proc` is therefore
//! enough, and a command cannot change it. It can be got around where there is no sandbox: by asking something that runs
//! already, such as a service manager, to start a process. Where there is no `/proc`, nothing is enforced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::process::parent_of;
use crate::sandbox::wire::Containment;
use crate::sandbox::{KEEP, SHOWN_NAME, SUPERVISE};

/// Most ancestors that are looked at. Whoever has more does not get past this by it.
const ANCESTORS_MAX: usize = 1_000;

/// The tables of connections.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// Whether this very process descends from a tool.
#[must_use]
pub fn is_own() -> bool {
    // Not our number: in a namespace it differs from the one in a `/proc` from outside.
    let own = fs::read_link("/proc/self").ok();
    let own = own.and_then(|link| link.to_str()?.parse::<i32>().ok());
    let Some(mut pid) = own else { return false };
    for _ in 0..ANCESTORS_MAX {
        match parent_of(pid) {
            Some(parent) if parent > 0 && is_stage(parent) => return true,
            Some(parent) if parent > 0 => pid = parent,
            Some(_) | None => return false,
        }
    }
    true
}

/// Whether the other end of a connection to this process descends from a tool, of whichever Wakeful. So does whoever is on
/// this machine and hung up before anybody could look.
#[must_use]
pub fn is_peer(peer: SocketAddr) -> bool {
    let Some(line) = Line::of(peer) else { return false };
    if line.theirs.is_empty() {
        return line.is_local;
    }
    let (of_tools, others) = by_descent();
    let mut unsure = false;
    for pid in of_tools {
        match holds(pid, &line.theirs) {
            Some(true) => return true,
            Some(false) => {}
            None => unsure = true,
        }
    }
    // One of them lets nobody look: then it is not theirs only if somebody else has it.
    unsure
        && !others
            .into_iter()
            .any(|pid| holds(pid, &line.theirs) == Some(true))
}

/// What the kernel's tables say of a connection.
#[derive(Debug, Default, PartialEq, Eq)]
struct Line {
    /// The sockets at its other end, where that is on this machine.
    theirs: BTreeSet<u64>,
    /// Whether both ends are on this machine.
    is_local: bool,
}

impl Line {
    /// None where the tables do not know of it.
    fn of(peer: SocketAddr) -> Option<Self> {
        let tables = TABLES.map(|table| fs::read_to_string(table).unwrap_or_default());
        Self::parse(&tables.concat(), peer)
    }

    fn parse(tables: &str, peer: SocketAddr) -> Option<Self> {
        let peer = (peer.ip().to_canonical(), peer.port());
        let (mut found, mut is_known) = (Self::default(), false);
        for row in tables.lines() {
            let mut fields = row.split_ascii_whitespace().skip(1);
            let (Some(local), Some(remote)) = (
                fields.next().and_then(end_point),
                fields.next().and_then(end_point),
            ) else {
                continue;
            };
            // Who has closed a socket has none any more; the kernel keeps its row for a while, with a zero.
            let inode = fields.nth(6).and_then(|inode| inode.parse::<u64>().ok());
            if local == peer {
                is_known = true;
                found.is_local = true;
                found.theirs.extend(inode.filter(|inode| *inode > 0));
            } else if remote == peer {
                is_known = true;
                found.is_local |= peer.0.is_loopback() || local.0 == peer.0;
            }
        }
        is_known.then_some(found)
    }
}

/// Reads an address and a port as the tables have them: words of 32 bits as this machine keeps them.
fn end_point(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words: Vec<[u8; 4]> = (0..address.len())
        .step_by(8)
        .map(|at| u32::from_str_radix(address.get(at..at + 8)?, 16).ok())
        .map(|word| word.map(u32::to_ne_bytes))
        .collect::<Option<_>>()?;
    let address = match words.as_slice() {
        [word] => IpAddr::from(*word),
        [_, _, _, _] => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?)),
        _ => return None,
    };
    Some((address.to_canonical(), port))
}

/// Every process that can be seen: those below a tool, and the others.
fn by_descent() -> (Vec<i32>, Vec<i32>) {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parents: BTreeMap<i32, i32> = pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let stages: BTreeSet<i32> = parents.keys().copied().filter(|pid| is_stage(*pid)).collect();
    parents.keys().partition(|pid| {
        let above = std::iter::successors(parents.get(pid), |parent| parents.get(parent));
        above.take(ANCESTORS_MAX).any(|parent| stages.contains(parent))
    })
}

/// Whether a process has one of these sockets; none where it lets nobody look.
fn holds(pid: i32, sockets: &BTreeSet<u64>) -> Option<bool> {
    let files = match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(files) => files,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(false),
        Err(_) => return None,
    };
    let is_one = |file: fs::DirEntry| {
        let target = fs::read_link(file.path()).ok()?;
        let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some(sockets.contains(&inode.parse().ok()?))
    };
    Some(files.flatten().any(|file| is_one(file) == Some(true)))
}

/// Whether a process is a stage of the sandbox, above the processes of a command.
fn is_stage(pid: i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&str> = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .filter_map(|word| std::str::from_utf8(word).ok())
        .collect();
    match words.as_slice() {
        [SHOWN_NAME, .., KEEP, containment] => Containment::parse(containment).is_some(),
        [SHOWN_NAME, .., SUPERVISE] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1E25 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 x 100
   1: 0100007F:C001 0100007F:1E25 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 x 20
   2: 0100007F:1E25 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 x 20
   3: 0100007F:1E25 0100007F:C002 08 00000000:00000000 00:00000000 00000000  1000        0 13 1 x 20
   4: 0100007F:C002 0100007F:1E25 05 00000000:00000000 00:00000000 00000000     0        0 0 3 x
   5: 0501A8C0:1E25 0901A8C0:C003 01 00000000:00000000 00:00000000 00000000  1000        0 14 1 x 20
   0: 0000000000000000FFFF00000100007F:C004 0000000000000000FFFF00000100007F:1E25 01 0:0 0:0 0 1000 0 99 1 x 20
";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_other_end_of_a_connection_is_found_in_the_tables() {
        let line = |peer: &str| Line::parse(TABLE, peer.parse().expect("an address"));
        let found = |theirs: &[u64], is_local| {
            let theirs = theirs.iter().copied().collect();
            Some(Line { theirs, is_local })
        };
        assert_eq!(line("127.0.0.1:49153"), found(&[4711], true));
        assert_eq!(line("127.0.0.1:49154"), found(&[], true), "they hung up");
        assert_eq!(line("192.168.1.9:49155"), found(&[], false), "another machine");
        assert_eq!(line("[::ffff:127.0.0.1]:49156"), found(&[99], true));
        assert_eq!(line("127.0.0.1:9"), None);
    }

    #[test]
    fn a_connection_of_our_own_is_not_a_tools() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (server, peer) = listener.accept().expect("accepted");
        let line = Line::of(peer).expect("it is known");
        assert!(line.is_local && line.theirs.len() == 1, "{line:?}");
        let own = i32::try_from(std::process::id()).expect("a number");
        assert_eq!(holds(own, &line.theirs), Some(true));
        assert!(!is_peer(peer) && !is_own());
        drop(client);
        assert!(is_peer(peer), "nobody knows who has hung up");
        drop(server);
    }
}
