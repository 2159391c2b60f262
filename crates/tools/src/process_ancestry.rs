//! Determines whether a process descends from a tool: then it belongs to an agent and may not decide in a
//! person's place.
//!
//! Every process of a command permanently has the reaper among its ancestors: the reaper is the first
//! process of its namespace, or a subreaper, so orphans become its children. The parent pids in `/proc` are
//! therefore sufficient, and a command cannot change them. Without a sandbox the check can be bypassed: a
//! command can ask a running service, such as a service manager, to start a process. Without `/proc`,
//! nothing is enforced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};

use crate::process::{parent_of, started_at};
use crate::sandbox::Stage;

/// Most ancestors that are checked. A process with more ancestors counts as a tool's.
const ANCESTORS_MAX: usize = 1_000;

/// The kernel's connection tables.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// How often the tables are read before a peer socket that is in none of them counts as not local. A table
/// is not an atomic snapshot: the row of a peer that disconnects meanwhile can be missing while our own row
/// still exists. On the next read our row is gone, too.
const LOOKS: usize = 2;

/// Whether the current process descends from a tool.
#[must_use]
pub fn is_own() -> bool {
    // Not our own pid: in a namespace it differs from the one in a `/proc` that was mounted outside.
    let own = fs::read_link("/proc/self").ok();
    let own = own.and_then(|link| link.to_str()?.parse::<i32>().ok());
    own.is_some_and(has_stage_above)
}

/// Whether a process that connected to one of our Unix sockets descends from a tool of any Wakeful
/// instance. The process is identified by its pid and its start time in clock ticks since boot. A process
/// that has exited, or whose pid was reused, counts as a tool's, because its ancestry is unknown.
#[must_use]
pub fn is_process(pid: i32, started: Option<u64>) -> bool {
    if !fs::exists("/proc/self/stat").unwrap_or(true) {
        return false;
    }
    let is_same = || started.is_some() && started_at(pid) == started;
    // Checked again afterwards: the ancestors are meaningless if the process exited meanwhile.
    !is_same() || has_stage_above(pid) || !is_same()
}

fn has_stage_above(pid: i32) -> bool {
    let mut pid = pid;
    for _ in 0..ANCESTORS_MAX {
        match parent_of(pid) {
            Some(parent) if parent > 0 && is_stage(parent) => return true,
            Some(parent) if parent > 0 => pid = parent,
            Some(_) | None => return false,
        }
    }
    true
}

/// Whether the peer of a connection to this process descends from a tool of any Wakeful instance. A local
/// peer that disconnected before the check counts as a tool's, and so does one that cannot be distinguished
/// from it.
#[must_use]
pub fn is_peer(peer: SocketAddr) -> bool {
    let answer = is_tools(|| PeerEnd::of(peer));
    answer.unwrap_or_else(|| is_here(peer))
}

/// None if no process holds the peer socket any more.
fn is_tools(look: impl Fn() -> std::io::Result<PeerEnd>) -> Option<bool> {
    let sockets = match look() {
        Ok(PeerEnd::Held(sockets)) => sockets,
        Ok(PeerEnd::Elsewhere) => return Some(false),
        Ok(PeerEnd::HungUp) => return None,
        Err(_) => return Some(true),
    };
    if is_held_by_tool(&sockets) {
        return Some(true);
    }
    // A process that closed the socket meanwhile may have been missed.
    let is_same = look().is_ok_and(|now| now == PeerEnd::Held(sockets));
    is_same.then_some(false)
}

/// Whether a descendant of a tool holds one of these sockets, as far as can be determined.
fn is_held_by_tool(sockets: &Sockets) -> bool {
    let (of_tools, others) = by_descent();
    let own = rustix::process::geteuid().as_raw();
    let mut unsure = false;
    for pid in of_tools {
        match holds(pid, sockets) {
            Some(true) => return true,
            Some(false) => {}
            None => unsure |= may_be_of(sockets, own, uids(pid).as_deref()),
        }
    }
    // A tool's process is unreadable: the socket counts as the tool's unless another process holds it.
    unsure && !others.into_iter().any(|pid| holds(pid, sockets) == Some(true))
}

/// Sockets by inode, each with the user who created it.
type Sockets = BTreeMap<u64, u32>;

/// The state of the peer socket in the kernel's tables.
#[derive(Debug, PartialEq, Eq)]
enum PeerEnd {
    /// A local process holds it, by one of these sockets.
    Held(Sockets),
    /// No process holds it any more.
    HungUp,
    /// It does not belong to this network namespace.
    Elsewhere,
}

impl PeerEnd {
    fn of(peer: SocketAddr) -> std::io::Result<Self> {
        for _ in 0..LOOKS {
            let tables = tables()?;
            if tables.is_empty() {
                break;
            }
            match Self::parse(&tables, peer, &own_sockets()?) {
                Self::Elsewhere => {}
                found @ (Self::Held(_) | Self::HungUp) => return Ok(found),
            }
        }
        Ok(Self::Elsewhere)
    }

    /// Finds the peer of our socket. Our own row exists unless the peer reset the connection; data that it
    /// sent before can still be read then.
    fn parse(tables: &str, peer: SocketAddr, own: &BTreeSet<u64>) -> Self {
        let peer = (peer.ip().to_canonical(), peer.port());
        let rows: Vec<Row> = tables.lines().filter_map(Row::parse).collect();
        let Some(ours) = rows
            .iter()
            .find(|row| row.remote == peer && own.contains(&row.inode))
        else {
            return Self::HungUp;
        };
        let (exact, others): (Vec<&Row>, Vec<&Row>) = rows
            .iter()
            .filter(|row| row.local == peer)
            .partition(|row| row.remote == ours.local);
        // One port can serve several connections. Only if the address was translated on the way does none
        // of the rows name our address.
        let theirs = if exact.is_empty() { others } else { exact };
        if theirs.is_empty() {
            return Self::Elsewhere;
        }
        // A closed socket has no inode; the kernel keeps its row for a while, with a zero.
        let open = theirs.iter().filter(|row| row.inode > 0);
        let sockets: Sockets = open.map(|row| (row.inode, row.uid)).collect();
        match sockets.is_empty() {
            true => Self::HungUp,
            false => Self::Held(sockets),
        }
    }
}

struct Row {
    local: (IpAddr, u16),
    remote: (IpAddr, u16),
    uid: u32,
    inode: u64,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (end_point(fields.next()?)?, end_point(fields.next()?)?);
        let uid = fields.nth(4)?.parse().ok()?;
        let inode = fields.nth(1)?.parse().ok()?;
        Some(Self {
            local,
            remote,
            uid,
            inode,
        })
    }
}

/// The content of the tables; empty if they do not exist.
fn tables() -> std::io::Result<String> {
    let mut all = String::new();
    for table in TABLES {
        match fs::read_to_string(table) {
            Ok(text) => all.push_str(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// The sockets of this process.
fn own_sockets() -> std::io::Result<BTreeSet<u64>> {
    let files = fs::read_dir("/proc/self/fd")?.flatten();
    Ok(files.filter_map(|file| socket(&file)).collect())
}

/// Whether an address belongs to this machine: others cannot be bound.
fn is_here(peer: SocketAddr) -> bool {
    let at = match peer.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::from((ip, 0)),
        IpAddr::V6(_) => {
            let mut at = peer;
            at.set_port(0);
            at
        }
    };
    at.ip().is_loopback() || UdpSocket::bind(at).is_ok()
}

/// Whether an unreadable descendant of a tool may have created one of these sockets. A tool runs as our
/// user unless it changed its user, so a socket of a third user is not a tool's.
fn may_be_of(sockets: &Sockets, own: u32, process: Option<&[u32]>) -> bool {
    let is_its = |uid: &u32| *uid == own || process.is_none_or(|uids| uids.contains(uid));
    sockets.values().any(is_its)
}

/// The user ids of a process.
fn uids(pid: i32) -> Option<Vec<u32>> {
    uids_in(&String::from_utf8_lossy(
        &fs::read(format!("/proc/{pid}/status")).ok()?,
    ))
}

fn uids_in(status: &str) -> Option<Vec<u32>> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let uids = line.split_ascii_whitespace().map(|uid| uid.parse().ok());
    uids.collect::<Option<Vec<u32>>>().filter(|uids| !uids.is_empty())
}

/// Parses an address and a port as the tables print them: 32-bit words in native byte order.
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

/// All visible processes: descendants of tools, and the others.
fn by_descent() -> (Vec<i32>, Vec<i32>) {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parents: BTreeMap<i32, i32> = pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let stages: BTreeSet<i32> = parents.keys().copied().filter(|pid| is_stage(*pid)).collect();
    parents.keys().partition(|pid| descends(**pid, &parents, &stages))
}

fn descends(pid: i32, parents: &BTreeMap<i32, i32>, stages: &BTreeSet<i32>) -> bool {
    let mut above = std::iter::successors(parents.get(&pid), |parent| parents.get(parent));
    above
        .by_ref()
        .take(ANCESTORS_MAX)
        .any(|parent| stages.contains(parent))
        || above.next().is_some()
}

/// Whether a process holds one of these sockets; none if the process is unreadable.
fn holds(pid: i32, sockets: &Sockets) -> Option<bool> {
    let files = match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(files) => files,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(false),
        Err(_) => return None,
    };
    let mut held = files.flatten().filter_map(|file| socket(&file));
    Some(held.any(|inode| sockets.contains_key(&inode)))
}

/// The inode of the socket behind an open file.
fn socket(file: &fs::DirEntry) -> Option<u64> {
    let target = fs::read_link(file.path()).ok()?;
    let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
    inode.parse().ok()
}

/// Whether a process is a stage of the sandbox, above the processes of a command.
fn is_stage(pid: i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&str> = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .filter_map(|word| std::str::from_utf8(word).ok())
        .collect();
    Stage::of_command_line(&words).is_some()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const TABLE: &str = "\
sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1E25 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 x 100
   1: 0100007F:C001 0100007F:1E25 01 00000000:00000000 00:00000000 00000000  1001        0 4711 1 x 20
   2: 0100007F:1E25 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 x 20
   3: 0100007F:1E25 0100007F:C002 08 00000000:00000000 00:00000000 00000000  1000        0 13 1 x 20
   4: 0100007F:C002 0100007F:1E25 05 00000000:00000000 00:00000000 00000000     0        0 0 3 x
   5: 0501A8C0:1E25 0901A8C0:C003 01 00000000:00000000 00:00000000 00000000  1000        0 14 1 x 20
   6: 0100007F:C001 0100007F:0050 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 x 20
   7: 0100007F:0050 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 80 1 x 20
   8: 0100007F:C002 0100007F:0050 01 00000000:00000000 00:00000000 00000000  1000        0 4713 1 x 20
   9: 0100007F:1E25 0100007F:C005 01 00000000:00000000 00:00000000 00000000  1000        0 16 1 x 20
  10: 0100007F:1E25 0100007F:C006 01 00000000:00000000 00:00000000 00000000  1000        0 17 1 x 20
  11: 0100007F:C006 0100007F:0050 01 00000000:00000000 00:00000000 00000000  1000        0 4714 1 x 20
   0: 0000000000000000FFFF00000100007F:C004 0000000000000000FFFF00000100007F:1E25 01 0:0 0:0 0 1000 0 99 1 x 20
   1: 0000000000000000FFFF00000100007F:1E25 0000000000000000FFFF00000100007F:C004 01 0:0 0:0 0 1000 0 15 1 x 20
";

    #[test]
    fn a_process_with_too_many_ancestors_counts_as_a_tools() {
        let deepest = i32::try_from(ANCESTORS_MAX).expect("small") + 2;
        let parents: BTreeMap<i32, i32> = (1..=deepest).map(|pid| (pid, pid - 1)).collect();
        let descends = |pid, stages: &[i32]| descends(pid, &parents, &stages.iter().copied().collect());
        assert!(!descends(deepest - 3, &[]));
        assert!(descends(deepest - 3, &[1]));
        assert!(
            descends(deepest, &[]),
            "the ancestors above the limit are unknown"
        );
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_peer_of_a_connection_is_found_in_the_tables() {
        let own = BTreeSet::from([11, 12, 13, 14, 15, 16, 17]);
        let end = |peer: &str| PeerEnd::parse(TABLE, peer.parse().expect("an address"), &own);
        let held = |inode, uid| PeerEnd::Held(Sockets::from([(inode, uid)]));
        assert_eq!(
            end("127.0.0.1:49153"),
            held(4711, 1001),
            "by its port it has another, too"
        );
        assert_eq!(
            end("127.0.0.1:49154"),
            PeerEnd::HungUp,
            "what it has goes elsewhere"
        );
        assert_eq!(end("192.168.1.9:49155"), PeerEnd::Elsewhere, "another machine");
        assert_eq!(end("[::ffff:127.0.0.1]:49156"), held(99, 1000));
        assert_eq!(end("127.0.0.1:49157"), PeerEnd::Elsewhere, "no row at all");
        assert_eq!(
            end("127.0.0.1:49158"),
            held(4714, 1000),
            "it knows us by another address"
        );
        assert_eq!(end("127.0.0.1:9"), PeerEnd::HungUp, "we have no row ourselves");
    }

    #[test]
    fn a_socket_of_a_third_user_is_not_a_tools() {
        let of = |uid| Sockets::from([(4711, uid)]);
        let same = uids_in("Name:\tssh-agent\nUid:\t1000\t1000\t1000\t1000\nGid:\t7\n").expect("users");
        let other = uids_in("Name:\tsudo\nUid:\t1000\t0\t0\t0\n").expect("users");
        assert!(may_be_of(&of(1000), 1000, Some(&same)));
        assert!(!may_be_of(&of(33), 1000, Some(&same)), "a proxy of another user");
        assert!(
            may_be_of(&of(0), 1000, Some(&other)),
            "a tool that took another user"
        );
        assert!(
            may_be_of(&of(1000), 1000, Some(&[0])),
            "made before it took another"
        );
        assert!(may_be_of(&of(33), 1000, None), "unknown user");
        assert_eq!((uids_in("Name:\tx\n"), uids_in("Uid:\n")), (None, None));
    }

    #[test]
    fn our_own_connection_is_not_a_tools() {
        let (listener, client, server, peer) = connected();
        let PeerEnd::Held(sockets) = PeerEnd::of(peer).expect("tables") else {
            panic!("it is known");
        };
        assert_eq!(sockets.len(), 1, "{sockets:?}");
        let own = i32::try_from(std::process::id()).expect("a number");
        assert_eq!(holds(own, &sockets), Some(true));
        assert!(!is_peer(peer) && !is_own());
        drop(client);
        assert!(is_peer(peer), "the peer has disconnected and is unknown");
        drop((listener, server));
    }

    #[test]
    fn a_process_is_identified_by_pid_and_start_time() {
        let own = i32::try_from(std::process::id()).expect("a number");
        let started = started_at(own);
        assert!(started.is_some() && !is_process(own, started));
        assert!(
            is_process(own, started.map(|at| at + 1)),
            "another has its number"
        );
        assert!(is_process(own, None) && is_process(0, Some(1)), "it is not known");
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let pid = i32::try_from(child.id()).expect("a number");
        let started = started_at(pid);
        child.wait().expect("it ended");
        assert!(is_process(pid, started), "it has ended");
    }

    #[test]
    fn a_peer_that_resets_is_not_treated_as_a_person() {
        let (_listener, mut client, mut server, peer) = connected();
        client.write_all(b"yes").expect("written");
        // The unread data turns the close into a reset, which leaves no row for either socket.
        server.write_all(b"well").expect("written");
        drop(client);
        assert_eq!(PeerEnd::of(peer).expect("tables"), PeerEnd::HungUp);
        assert!(is_peer(peer), "the peer has reset the connection and is unknown");
        let mut said = [0; 3];
        server.read_exact(&mut said).expect("what it said is there");
        assert_eq!(&said, b"yes");
    }

    #[test]
    fn a_peer_that_disconnects_during_the_check_is_not_a_person() {
        let held = || PeerEnd::Held(Sockets::from([(u64::MAX, 1000)]));
        assert_eq!(is_tools(|| Ok(held())), Some(false));
        let looks = std::cell::Cell::new(0);
        let leaving = || {
            looks.set(looks.get() + 1);
            Ok(if looks.get() == 1 { held() } else { PeerEnd::HungUp })
        };
        assert_eq!(is_tools(leaving), None);
        assert_eq!(is_tools(|| Err(std::io::ErrorKind::Other.into())), Some(true));
    }

    #[test]
    fn a_local_address_is_distinguished_from_others() {
        let is_here = |peer: &str| is_here(peer.parse().expect("an address"));
        assert!(is_here("127.0.0.1:9") && is_here("[::1]:9") && is_here("[::ffff:127.0.0.1]:9"));
        // Both are reserved for documentation: no machine has them.
        assert!(!is_here("192.0.2.1:9") && !is_here("[2001:db8::1]:9"));
    }

    fn connected() -> (TcpListener, TcpStream, TcpStream, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (server, peer) = listener.accept().expect("accepted");
        (listener, client, server, peer)
    }
}
