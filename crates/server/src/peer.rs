//! The origin of a request: a network address, a process on the home's socket, or this process.

use std::net::SocketAddr;

use tokio::net::UnixStream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// It came over TCP, from this address.
    Network(SocketAddr),
    /// It came through the socket in the home.
    Local(LocalPeer),
    /// A command of this program that runs without a daemon and calls the router itself.
    InProcess,
}

/// The process that connected to the home's socket, as reported by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalPeer {
    /// Its pid; 0 if the kernel cannot name it in this namespace.
    pub pid: i32,
    /// The start time of the process, in clock ticks since boot, because a pid may be reused. None if the
    /// process was already gone.
    pub started: Option<u64>,
}

impl LocalPeer {
    /// The connected process if it runs as this program's user or as root. None for other users, who get no
    /// response.
    pub(crate) fn of(stream: &UnixStream) -> Option<Self> {
        let credentials = stream.peer_cred().ok()?;
        let own = rustix::process::geteuid().as_raw();
        if credentials.uid() != own && credentials.uid() != 0 {
            return None;
        }
        let pid = credentials.pid().unwrap_or(0);
        // The process name in it may contain any bytes.
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok();
        Some(Self {
            pid,
            started: stat.and_then(|stat| started(&String::from_utf8_lossy(&stat))),
        })
    }
}

/// The 22nd field. The second one is a name in parentheses and may contain anything, so fields are counted after its end.
fn started(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_of_a_process_is_parsed_after_its_name() {
        let stat = "12 (a) b) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1";
        assert_eq!(started(stat), Some(987_654));
    }

    #[tokio::test]
    async fn a_process_of_the_same_user_is_identified_by_pid_and_start() {
        let (_near, far) = UnixStream::pair().expect("a pair");
        let peer = LocalPeer::of(&far).expect("the same user");
        assert_eq!(u32::try_from(peer.pid), Ok(std::process::id()));
        assert!(peer.started.is_some());
    }
}
