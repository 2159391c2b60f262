//! Tries, from inside the sandbox, what must be refused there, and prints a word for each attempt.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its output is what the tests read")]

use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::UnshareFlags;

fn main() {
    let mut args = std::env::args().skip(1);
    let [what, target] = [args.next().unwrap_or_default(), args.next().unwrap_or_default()];
    let result = match what.as_str() {
        "tcp" => TcpStream::connect(&target).map(|_| ()),
        "listen" => TcpListener::bind("127.0.0.1:0").map(|_| ()),
        "udp" => UdpSocket::bind("127.0.0.1:0").map(|_| ()),
        "unix" => UnixStream::connect(&target).map(|_| ()),
        "unix-listen" => UnixListener::bind(&target).map(|_| ()),
        "abstract" => SocketAddr::from_abstract_name(&target)
            .and_then(|a| UnixStream::connect_addr(&a))
            .map(|_| ()),
        "pair" => UnixStream::pair().map(|_| ()),
        "userns" => unshare(UnshareFlags::NEWUSER),
        "mountns" => unshare(UnshareFlags::NEWNS),
        "bind" => mount_bind(&target, "/mnt").map_err(io::Error::from),
        "remount" => mount_change("/", MountPropagationFlags::PRIVATE).map_err(io::Error::from),
        "thread" => std::thread::spawn(|| ())
            .join()
            .map_err(|_| io::Error::other("panic")),
        _ => Err(io::Error::other("unknown attempt")),
    };
    match result {
        Ok(()) => println!("{what}: ok"),
        Err(e) => println!("{what}: {:?}", e.kind()),
    }
}

#[expect(deprecated, reason = "only namespaces, and before any thread")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    rustix::thread::unshare(flags).map_err(io::Error::from)
}
