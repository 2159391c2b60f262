//! Where a request comes from: an address of the network, a process that used the home's socket, or this process.

use std::net::SocketAddr;

use tokio::net::UnixStream;

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// It came over TCP, from this address.
    Network(SocketAddr),
    /// It came by the socket in the home.
    Local(LocalPeer),
    /// A command of this program that runs without a daemon and calls the router itself.
    InProcess,
}

/// The process that connected to the home's socket, as the kernel names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalPeer {
    /// Its number; 0 when the kernel cannot name it here.
    pub pid: i32,
    /// When that process began, in clock ticks after boot: a number may be used again. None when it was gone already.
    pub started: Option<u64>,
}

impl LocalPeer {
    /// The process at the other end if it is this program's own user or root. None for anyone else, who gets no answer.
    pub(crate) fn of(stream: &UnixStream) -> Option<Self> {
        let credentials = stream.peer_cred().ok()?;
        let own = rustix::process::geteuid().as_raw();
        if credentials.uid() != own && credentials.uid() != 0 {
            return None;
        }
        let pid = credentials.pid().unwrap_or(0);
        // The name in it may hold any bytes.
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
    fn the_start_of_a_process_is_read_after_its_name() {
        let stat = "12 (a) b) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1";
        assert_eq!(started(stat), Some(987_654));
    }

    #[tokio::test]
    async fn a_process_of_the_same_user_is_named_by_pid_and_start() {
        let (_near, far) = UnixStream::pair().expect("a pair");
        let peer = LocalPeer::of(&far).expect("the same user");
        assert_eq!(u32::try_from(peer.pid), Ok(std::process::id()));
        assert!(peer.started.is_some());
    }
}
