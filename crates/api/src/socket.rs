//! Socket paths that fit the kernel's limit, regardless of the length of the real path.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// Longest path of a Unix socket in bytes. The kernel reserves one more byte for the terminating NUL.
const PATH_BYTES_MAX: usize = 107;

/// A path with which a socket can be bound or connected to. It is valid until dropped.
///
/// A path that is too long is replaced by `/proc/self/fd/N/FILE` with a descriptor of its open folder. This
/// needs no other folder and stays valid when the home is moved.
#[derive(Debug)]
pub struct SocketName {
    name: PathBuf,
    /// Keeps the descriptor in `name` open.
    _folder: Option<File>,
}

impl SocketName {
    /// Creates a name for the socket at this path.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() <= PATH_BYTES_MAX {
            return Ok(Self {
                name: path.to_owned(),
                _folder: None,
            });
        }
        let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = File::open(folder)?;
        let name = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(file);
        Ok(Self {
            name,
            _folder: Some(folder),
        })
    }

    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_socket_can_be_bound_at_a_path_of_any_length() {
        let folder = std::env::temp_dir().join(format!("wakeful-socket-{}", std::process::id()));
        for length in [1, 200] {
            let home = folder.join("h".repeat(length));
            std::fs::create_dir_all(&home).expect("a folder");
            let path = home.join("wakeful.sock");
            let listener = UnixListener::bind(SocketName::of(&path).expect("a name").as_path());
            let listener = listener.expect("bound");
            assert!(path.exists(), "{length}");
            let client = UnixStream::connect(SocketName::of(&path).expect("a name").as_path());
            client.expect("connected");
            listener.accept().expect("accepted");
        }
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
